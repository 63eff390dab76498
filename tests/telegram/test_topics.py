"""Topics that are deleted or closed: the answer stands in the same chat, and it is known where."""

from collections.abc import Callable
from typing import Any

import pytest

from crossmemory.surfaces import Destination, Outcome, Piece
from crossmemory.surfaces.telegram import sending
from tests.telegram import canned
from tests.telegram.canned import Canned

GROUP = "-1002345678901"
TOPIC = Destination("telegram", "7012345678", GROUP, topic="3895000077")
BOLD = Piece("a bold word", {"entities": [{"type": "bold", "offset": 2, "length": 4}], "plain": "a **bold** word"})


async def sent(answer: Callable[[dict[str, Any]], Any], to: Destination = TOPIC, piece: Piece = BOLD) -> Any:
    server = Canned(lambda name, parameters: answer(parameters))
    outcome = await sending.send(canned.bot(server), to, piece)
    return outcome, server.of("sendmessage")


async def test_an_answer_goes_to_its_topic() -> None:
    outcome, (asked,) = await sent(canned.said)
    assert outcome == Outcome("sent", external_id="900")
    assert (asked["chat_id"], asked["message_thread_id"]) == (int(GROUP), 3895000077)


@pytest.mark.parametrize(
    "words", ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED", "Message Thread Not Found"]
)
@pytest.mark.parametrize("piece", [BOLD, Piece("plain"), Piece("Q" * 4096, {"label": "(Again?)"})])
async def test_without_the_topic_it_goes_once_more_to_the_same_chat(words: str, piece: Piece) -> None:
    def answer(parameters: dict[str, Any]) -> Any:
        return (
            canned.refused(400, f"Bad Request: {words}")
            if "message_thread_id" in parameters
            else canned.said(parameters)
        )

    outcome, asked = await sent(answer, piece=piece)
    assert outcome == Outcome("sent", external_id="900", topic="")
    assert {each["chat_id"] for each in asked} == {int(GROUP)}
    assert [each["text"] for each in asked if "message_thread_id" not in each][-1] == piece.text
    assert len([each for each in asked if "message_thread_id" in each]) == 1
    assert ("entities" in asked[-1]) is ("entities" in piece.payload)


async def test_what_is_accepted_but_stands_elsewhere_is_known_to() -> None:
    def without(parameters: dict[str, Any]) -> Any:
        del parameters["message_thread_id"]
        return canned.said(parameters)

    outcome, asked = await sent(lambda parameters: without(dict(parameters)))
    assert outcome == Outcome("sent", external_id="900", topic="")
    assert len(asked) == 1
    outcome, _ = await sent(lambda parameters: canned.said(parameters, message_thread_id=7))
    assert outcome.topic == "7"


async def test_what_has_no_topic_is_not_compared() -> None:
    """The General topic, and chains of answers, which have a thread but are no topic."""
    for topic in ("", "1"):
        to = Destination("telegram", "7012345678", GROUP, topic=topic)
        outcome, (asked,) = await sent(lambda parameters: canned.said(parameters, message_thread_id=871), to)
        assert outcome == Outcome("sent", external_id="900")
        assert "message_thread_id" not in asked


async def test_a_chat_that_refuses_both_is_asked_twice_and_no_more() -> None:
    outcome, asked = await sent(lambda parameters: canned.refused(400, "Bad Request: message thread not found"))
    assert (outcome.fate, len(asked)) == ("failed", 2)
