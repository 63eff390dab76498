"""The site's own pages: the primary surface. It is read by attaching, so nothing is delivered to it."""

from typing import ClassVar

from crossmemory.surfaces.base import Surface


class WebSurface(Surface):
    primary: ClassVar[bool] = True
    streams: ClassVar[bool] = True
