"""Request bodies: JSON of a bounded size, read with everything in it that people's programs send."""

import json
from typing import Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from crossmemory.api.errors import BodyTooLarge
from crossmemory.conf import MIB

#: bytes of a body at most; a person's text of MAX_TEXT_BYTES fits with every character escaped
MAX_BODY_BYTES = MIB


class BoundedJSONParser(JSONParser):
    """JSON up to MAX_BODY_BYTES. Lone surrogates come through, escaped or as bytes: the log cleans them."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The value of the body. Raises BodyTooLarge, ParseError."""
        raw: bytes = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            return json.loads(raw.decode("utf-8", "surrogatepass"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:  # ValueError: not UTF-8, not JSON, or digits without end
            raise ParseError from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")
