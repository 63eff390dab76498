"""The benchmark's own database: made beside the one that DATABASE_URL names, and dropped afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

#: the alias that crossmemory's models are read from and written to in this process
chosen = "default"


class Chosen:
    """A database router, so that one process can measure several OPTIONS of the same database."""

    def db_for_read(self, model: type[Any], **hints: Any) -> str:
        return chosen

    def db_for_write(self, model: type[Any], **hints: Any) -> str:
        return chosen

    def allow_relation(self, *objects: Any, **hints: Any) -> bool:
        return True


@contextmanager
def using(alias: str) -> Iterator[None]:
    """Have the app use `DATABASES[alias]`, in all threads."""
    global chosen
    before, chosen = chosen, alias
    try:
        yield
    finally:
        chosen = before


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """The URL of a new, empty database on the server of `url`; gone afterwards."""
    name = f"crossmemory_bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
