"""The library's own client, which hears prepared answers instead of a server's: its parsing and its errors are real."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from telegram import Bot
from telegram.request import BaseRequest

#: given a method's name and its parameters: an HTTP status and the body; an exception, which is raised; or None, and
#: the server never answers
Answer = Callable[[str, dict[str, Any]], "tuple[int, Any] | Exception | None"]

ME = {"id": 7012345678, "is_bot": True, "first_name": "Harbor Helper", "username": "harbor_helper_bot"}


def fine(result: Any) -> tuple[int, Any]:
    return 200, {"ok": True, "result": result}


def refused(status: int, description: str, **parameters: Any) -> tuple[int, Any]:
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    return status, {**body, "parameters": parameters} if parameters else body


def said(parameters: dict[str, Any], **fields: Any) -> tuple[int, Any]:
    """The message that was sent, as the platform tells it."""
    chat = {"id": parameters["chat_id"], "type": "private" if parameters["chat_id"] > 0 else "supergroup"}
    topic = parameters.get("message_thread_id")
    place = {} if topic is None else {"message_thread_id": topic, "is_topic_message": True}
    return fine({"message_id": 900, "date": 1767225637, "chat": chat, "text": parameters["text"], **place, **fields})


class Canned(BaseRequest):
    """Notes what is asked, and answers as it was told to."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def initialize(self) -> None:
        pass

    async def shutdown(self) -> None:
        pass

    @property
    def read_timeout(self) -> float | None:
        return 5

    async def do_request(self, url: str, method: str, request_data: Any = None, **more: Any) -> tuple[int, bytes]:
        name = url.rpartition("/")[2].lower()
        parameters = dict(request_data.parameters) if request_data is not None else {}
        self.asked.append((name, parameters))
        answer = self.answer(name, parameters)
        if answer is None:
            await asyncio.sleep(3600)
            raise AssertionError("nobody waits for so long")
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    def of(self, name: str) -> list[dict[str, Any]]:
        """What one method was asked for."""
        return [parameters for asked, parameters in self.asked if asked == name]


def bot(canned: Canned, token: str = "7012345678:x") -> Bot:
    return Bot(token, request=canned, get_updates_request=canned)
