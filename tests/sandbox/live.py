"""A real uvicorn server in a thread, for clients that speak HTTP."""

import socket
import threading
import time

import uvicorn
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.handlers.asgi import ASGIHandler


class LiveServer:
    """Serves the site on a free port; ``restart`` begins again with nothing but the database."""

    def __init__(self) -> None:
        self.port = 0
        self._start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/sandbox/telegram"

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _start(self) -> None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        application = ASGIStaticFilesHandler(ASGIHandler())
        config = uvicorn.Config(application, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started:
            assert time.monotonic() < deadline, "uvicorn did not start"
            time.sleep(0.01)
