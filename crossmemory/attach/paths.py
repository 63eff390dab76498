"""Where the socket lives; imported by what must not load Channels."""

SOCKET_PREFIX = "ws/crossmemory/conversations/"


def socket_path(conversation: str) -> str:
    """The socket's path on this site."""
    return f"/{SOCKET_PREFIX}{conversation}/"
