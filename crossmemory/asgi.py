"""One line for a site's `asgi.py`: `application = with_crossmemory(get_asgi_application())`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

GRACE_SECONDS = 10.0  # for runs under way when the server is told to stop

Application = Callable[[Any, Any, Any], Awaitable[None]]


def with_crossmemory(application: Application) -> Application:
    """Wrap a site's ASGI application: crossmemory's sockets go to its consumer, everything else to the site.

    The runner starts with the first thing that is served, so that runs another process left are taken up. A site with
    its own Channels routing uses `crossmemory.attach.routing.websocket_urlpatterns` instead.
    """
    # Imported here: an asgi.py imports this module before Django is set up.
    from channels.routing import URLRouter
    from django.core.handlers.asgi import ASGIHandler

    from crossmemory import runs
    from crossmemory.attach.paths import SOCKET_PREFIX
    from crossmemory.attach.routing import websocket_urlpatterns

    router = URLRouter(websocket_urlpatterns)
    has_lifespan = not isinstance(application, ASGIHandler)  # Django's own handler knows none

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await (application(scope, _stopping(receive), send) if has_lifespan else _lifespan(receive, send))
            return
        runs.runner().start()
        if scope["type"] == "websocket" and scope["path"].lstrip("/").startswith(SOCKET_PREFIX):
            try:
                await router(scope, receive, send)
            except ValueError:  # no such path: refused before it is accepted
                await send({"type": "websocket.close"})
        else:
            await application(scope, receive, send)

    return wrapped


def _stopping(receive: Any) -> Any:
    """`receive`, which lets runs under way finish before the server's shutdown goes on."""

    async def heard() -> Any:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            from crossmemory import runs

            await asyncio.to_thread(runs.runner().stop, GRACE_SECONDS)
        return message

    return heard


async def _lifespan(receive: Any, send: Any) -> None:
    """The lifespan protocol, for a site without one (ASGI specification, "Lifespan Protocol")."""
    heard = _stopping(receive)
    while (message := await heard())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})
