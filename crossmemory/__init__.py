"""One memory for an AI assistant across surfaces, and the server as the custodian of every conversation."""

__version__ = "0.1.0"
