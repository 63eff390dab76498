"""The parameters of a Bot API call: query string, form, multipart or JSON, with JSON strings inside forms.

https://core.telegram.org/bots/api#making-requests
"""

import json
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from .errors import ApiError, bad_request
from .formatting import storable


class Params:
    """Values by name, each read as the type that the method wants, and fit to be stored."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) not in (None, "")

    def text(self, name: str) -> str:
        """The value as a string, empty when it is absent."""
        value = self._values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            value = json.dumps(value)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise bad_request("strings must be encoded in UTF-8") from error
        return str(storable(value))

    def integer(self, name: str, default: int | None = None) -> int | None:
        if name not in self:
            return default
        value = self._values[name]
        try:
            number = int(str(value).strip())
        except ValueError as error:
            raise bad_request(f"field {name} must be a number") from error
        if not -(2**63) <= number < 2**63:
            raise bad_request(f"field {name} is out of range")
        return number

    def boolean(self, name: str) -> bool:
        return str(self._values.get(name, "")).lower() in ("true", "1", "yes")

    def parsed(self, name: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
        """A list or object, also when it came as a JSON string; None when it is absent."""
        if name not in self:
            return None
        value = self._values[name]
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError as error:
                raise bad_request(f"can't parse {name} JSON object") from error
        if value is None:
            return None
        if not isinstance(value, kind):
            raise bad_request(f"field {name} must be of type {'Array' if kind is list else 'Object'}")
        return storable(value)


def read(request: HttpRequest) -> Params:
    """Collect the parameters of ``request``. Raises ApiError when the body cannot be read."""
    values: dict[str, Any] = {name: request.GET[name] for name in request.GET}
    try:
        if request.content_type == "application/json":
            body = json.loads(request.body or b"{}")
            if not isinstance(body, dict):
                raise bad_request("the body must be a JSON object")
            values |= body
        else:
            values |= {name: request.POST[name] for name in request.POST}
    except RequestDataTooBig as error:
        raise ApiError(413, "Request Entity Too Large") from error
    except (ValueError, MultiPartParserError) as error:
        raise bad_request("can't parse the body of the request") from error
    return Params(values)
