"""Surfaces by alias: `surfaces["telegram"]`."""

from crossmemory.backends import Aliases
from crossmemory.surfaces.base import Destination, FileTrouble, Inbound, Outcome, Piece, RemoteFile, Surface

surfaces: Aliases[Surface] = Aliases("SURFACES")

__all__ = ["Destination", "FileTrouble", "Inbound", "Outcome", "Piece", "RemoteFile", "Surface", "surfaces"]
