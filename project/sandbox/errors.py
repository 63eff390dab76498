"""What the sandbox refuses, in the Bot API's words for bots and in plain words for programs."""

from typing import Any


class ApiError(Exception):
    """A refusal in the shape of https://core.telegram.org/bots/api#making-requests."""

    def __init__(self, status: int, description: str, parameters: dict[str, Any] | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


class DoorError(Exception):
    """A program sent something a door cannot take; the text says what is wrong."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def bad_request(description: str) -> ApiError:
    return ApiError(400, f"Bad Request: {description}")
