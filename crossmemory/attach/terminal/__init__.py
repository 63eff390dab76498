"""Attaching from a terminal: a client of the attach protocol in the process of `manage.py crossmemory_attach`."""
