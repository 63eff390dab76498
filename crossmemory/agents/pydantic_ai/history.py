"""From a context to the messages that a model gets, whole or shortened, and on from an approval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pydantic_ai import BinaryContent, ModelMessagesTypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from crossmemory import memory
from crossmemory.memory import Call, Context, Picture, Remembered, Turn, Words

#: what every provider takes; anything else stays the short description that stands in the text
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where an answer stood when it asked for permission."""

    messages: list[ModelMessage]  # what the model and the tools said since the question

    @classmethod
    def of(cls, state: Any) -> Self:
        return cls(ModelMessagesTypeAdapter.validate_python(state["messages"]))

    @staticmethod
    def state(messages: Sequence[ModelMessage]) -> dict[str, Any]:
        """JSON from which `of` makes it again, in another process."""
        return {"messages": ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")}


def seen(context: Context) -> Context:
    """The context of an answer that goes on, as it was when it began: without what it said itself and what is new."""
    asked = context.asked
    turn = asked[-1].turn if asked else None
    kept = [
        message
        for message in context.messages
        if message.id <= context.asked_until
        and message.id not in context.taken  # stands in the state, where it was said
        and not (message.own and message.turn == turn and message.role != "user")
    ]
    return replace(context, messages=kept)


def said_since(context: Context) -> str:
    """What the person said while the answer waited for permission; empty: nothing."""
    new = [message for message in context.messages if message.id > context.asked_until and message.role == "user"]
    return "\n\n".join(turn.text for turn in memory.turns(replace(context, messages=new, tools=())))


def halved(context: Context) -> tuple[Context, list[int]]:
    """The newer half of what came before the question, in whole turns, and the keys of what goes."""
    asked = {message.id for message in context.asked}
    before = [message for message in context.messages if message.id not in asked]
    kept, _cut = memory.window.whole_turns(before[(len(before) + 1) // 2 :])
    stay = asked | {message.id for message in kept}
    return _only(context, stay)


def alone(context: Context) -> tuple[Context, list[int]]:
    """The question without anything before it, and the keys of what goes."""
    return _only(context, {message.id for message in context.asked})


def _only(context: Context, stay: set[int]) -> tuple[Context, list[int]]:
    kept: list[Remembered] = [message for message in context.messages if message.id in stay]
    gone = [message.id for message in context.messages if message.id not in stay]
    return replace(context, messages=kept), gone


def rendered(context: Context, pictures: Sequence[Picture] = (), *, tools: bool = True) -> list[ModelMessage]:
    """The context as a history that ends with the question, with its pictures. `tools`: whether the agent has any."""
    turns = memory.turns(context, tools=tools)
    messages = [_response(turn) if turn.role == "assistant" else _request(turn) for turn in turns]
    if pictures and turns and turns[-1].role == "user":
        shown = [BinaryContent(picture.content, media_type=picture.mime) for picture in pictures]
        messages[-1] = ModelRequest(parts=[*messages[-1].parts, UserPromptPart(shown)])
    return messages


def _request(turn: Turn) -> ModelRequest:
    results = [
        ToolReturnPart(each.name, each.content, each.id, outcome="failed" if each.failed else "success")
        for each in turn.results
    ]
    # As one text: chat templates of local models take no two messages of the same role in a row.
    return ModelRequest(parts=[*results, *([UserPromptPart(turn.text)] if turn.text else [])])


def _response(turn: Turn) -> ModelResponse:
    return ModelResponse(
        parts=[
            ToolCallPart(block.name, block.arguments, block.id) if isinstance(block, Call) else TextPart(block.text)
            for block in turn.blocks
            if isinstance(block, (Call, Words))
        ]
    )
