"""The REST feed: `path("api/crossmemory/", include("crossmemory.api.urls"))`.

JSON in, JSON out, for browsers (session and CSRF token) and for programs (the site's own DRF authentication classes).
Every refusal is `{"code", "detail"}`: a word for programs, and a line for people in their language.
"""
