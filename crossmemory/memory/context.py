"""Building the context of one answer: select, cut, place, and keep account of what was left out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from crossmemory import db
from crossmemory.conf import primary_surface
from crossmemory.memory import aside, select, tools, window
from crossmemory.memory.limits import Limits, limits
from crossmemory.memory.types import Context, LeftOut, Manifest, Remembered, ToolUsed
from crossmemory.models import Conversation, Message, Owner, Run, manner

_LEFT_OUT_LISTED = 50  # how many left-out messages a manifest names at most
_QUESTIONS = 16  # messages that one answer may have to answer, when the window has lost them
_FRAMED = 30  # tokens: what a line costs besides its words when it stands framed, as others' do


@dataclass(slots=True)
class _Selection:
    """What is left of what was in reach, and an account of the rest."""

    messages: list[Remembered] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    more: bool = False  # whether there are older ones that were not looked at
    limit: int = 0  # messages that it is cut to
    start: int | None = None  # key of the first one that the last answer saw

    @classmethod
    def of(cls, found: list[Remembered], limit: int, start: int | None) -> "_Selection":
        """Of the newest messages of a place, one more than a window holds at most, if there are as many."""
        return cls(found, more=len(found) > 2 * limit, limit=limit, start=start)

    def cut(self, step: tuple[list[Remembered], list[LeftOut]]) -> None:
        self.messages, out = step
        self.left_out += out

    def only(self, keep: Callable[[Remembered], bool], reason: Any) -> None:
        self.cut(window.where(self.messages, keep, reason))


def build_context(
    conversation: Conversation, *, trigger: int | None = None, placement: str | None = None, resumed: bool = False
) -> Context:
    """What the agent sees when it answers in `conversation` now.

    On a secondary surface: the newest messages of all the person's conversations inside the time window. On the
    primary one: the conversation's own thread, and what was recently said on other surfaces, never twice. `trigger`
    is the seq of the question: it and what follows it here is never cut. Earlier answers to it are left out, unless
    this is the same answer going on (`resumed`).

    Reads only. Raises DatabaseError; the run engine degrades to `without_history`.
    """
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    most = limits(conversation.agent, conversation.surface)
    since = window.edge(timezone.now(), most.hours_back)
    start, recent_start = _previous_starts(conversation)
    if conversation.surface == primary_surface():
        parts = [_thread(conversation, most, start), _elsewhere(conversation, owner, since, most, recent_start)]
    else:
        parts = [_everything(conversation, owner, since, most, start)]
    for part in parts:
        _without(part, trigger, resumed)
    in_reach = [message for part in parts for message in part.messages]
    asked = _lost(conversation, trigger, in_reach)
    used = tools.used(conversation, [*asked, *in_reach], trigger)
    cost = _costs(most.count, used)
    _cut_by_number(parts, most.token_budget, cost)
    chosen = _joined(parts)
    chosen.cut(window.within_budget(chosen.messages, most.token_budget, cost))
    chosen.cut(window.whole_turns(chosen.messages))
    start, recent_start = _starts(conversation, chosen.messages)
    messages = window.merged(asked or _lost(conversation, trigger, chosen.messages), chosen.messages)
    messages = window.placed(window.turn_by_turn(messages), placement or most.placement)
    kept_out = select.kept_out(conversation, owner, since, _LEFT_OUT_LISTED + 1)
    set_aside = [LeftOut(message.id, "set aside") for message in _set_aside(conversation, owner, since)]
    left_out = sorted([*chosen.left_out, *kept_out, *set_aside], key=lambda left: left.id)
    manifest = Manifest(
        used=tuple(messages),
        left_out=tuple(left_out[-_LEFT_OUT_LISTED:]),
        placement=placement or most.placement,
        hours_back=most.hours_back,
        more=chosen.more or len(left_out) > _LEFT_OUT_LISTED,
    )
    language, time_zone = manner(owner)
    return Context(
        messages,
        manifest,
        conversation.surface,
        language,
        time_zone,
        start,
        recent_start,
        used,
        owner=owner,
    )


abuild_context = db.twin(build_context)


def left_out_here(conversation: Conversation) -> list[Remembered]:
    """What would be in reach, had the person not left it out in this conversation; ascending."""
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    most = limits(conversation.agent, conversation.surface)
    return _set_aside(conversation, owner, window.edge(timezone.now(), most.hours_back))


aleft_out_here = db.twin(left_out_here)


def without_history(conversation: Conversation, question: str) -> Context:
    """The context when history cannot be read: the question alone, and the fact that the rest is missing."""
    message = Remembered(
        id=0,
        conversation_id=conversation.pk,
        seq=0,
        turn=0,
        role="user",
        text=question,
        surface=conversation.surface,
        label=conversation.surface_label,
        at=timezone.now(),
        own=True,
    )
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    return Context([message], Manifest(missing=True), conversation.surface, owner=owner)


def _cut_by_number(parts: list[_Selection], budget: int | None, cost: Callable[[Remembered], int]) -> None:
    """To the windows of the last answer, or, where they hold less than they may, to the newest that they may hold: what
    was not in reach then may be now. Not while that would fill more than half the budget, to which it was cut."""
    stepped = [window.stepped(part.messages, part.limit, part.start) for part in parts]
    filled = [
        window.stepped(part.messages, max(part.limit, len(kept)), None)
        for part, (kept, _out) in zip(parts, stepped, strict=True)
    ]
    fits = budget is None or sum(cost(message) for kept, _out in filled for message in kept) <= budget // 2
    for part, step in zip(parts, filled if fits else stepped, strict=True):
        part.cut(step)


def _joined(parts: list[_Selection]) -> _Selection:
    own, *others = parts
    for part in others:
        own = _Selection(
            window.merged(own.messages, part.messages), own.left_out + part.left_out, own.more or part.more
        )
    return own


def _everything(
    conversation: Conversation, owner: Owner, since: datetime, most: Limits, start: int | None
) -> _Selection:
    """On a secondary surface: all the person's conversations, this one among them."""
    enough = 2 * most.max_messages + 1
    if conversation.reads and conversation.shared:
        found = _reach(conversation, owner, enough)
    else:  # its own words are not in the shared index: read them from the thread
        others = _reach(conversation, owner, enough) if conversation.reads else []
        found = window.merged(select.thread(conversation, enough), others)[-enough:]
    here = conversation.pk
    found = [message.as_own() if message.conversation_id == here else message for message in found]
    chosen = _Selection.of(found, most.max_messages, start)
    _inside(chosen, conversation, since)
    return chosen


def _set_aside(conversation: Conversation, owner: Owner, since: datetime) -> list[Remembered]:
    secondary = conversation.surface == primary_surface()
    found = aside.left_out(conversation, owner, _LEFT_OUT_LISTED, secondary=secondary)
    return [message for message in found if message.id > conversation.boundary and message.at >= since]


def _reach(conversation: Conversation, owner: Owner, enough: int) -> list[Remembered]:
    if conversation.aside:
        return aside.counting(conversation, owner, enough)
    return select.reach(owner, enough)


def _thread(conversation: Conversation, most: Limits, start: int | None) -> _Selection:
    """On the primary surface: the conversation itself, however old."""
    limit = most.thread_max_messages
    chosen = _Selection.of(select.thread(conversation, 2 * limit + 1), limit, start)
    chosen.only(lambda message: message.id > conversation.boundary, "boundary")
    return chosen


def _elsewhere(
    conversation: Conversation, owner: Owner, since: datetime, most: Limits, start: int | None
) -> _Selection:
    """On the primary surface: what was recently said on the others."""
    if not conversation.reads:
        return _Selection()
    limit = most.recent_max_messages
    if conversation.aside:
        found = aside.counting(conversation, owner, 2 * limit + 1, secondary=True)
    else:
        found = select.elsewhere(owner, None, 2 * limit + 1)
    chosen = _Selection.of(found, limit, start)
    _inside(chosen, conversation, since)
    return chosen


def _inside(chosen: _Selection, conversation: Conversation, since: datetime) -> None:
    chosen.only(lambda message: message.id > conversation.boundary, "boundary")
    chosen.only(lambda message: message.at >= since, "window")


def _without(chosen: _Selection, trigger: int | None, resumed: bool) -> None:
    """Without what is queued behind this run, which its own will answer, and without earlier answers to the same."""
    if trigger is not None:
        chosen.messages = [
            message
            for message in chosen.messages
            if not message.own
            or message.turn < trigger
            or (message.turn == trigger and (resumed or message.role == "user"))
        ]
    chosen.cut(window.without_blanks(chosen.messages))


def _lost(conversation: Conversation, trigger: int | None, messages: list[Remembered]) -> list[Remembered]:
    """What has to be answered, where the window has lost it to what was said since."""
    if trigger is None or any(message.own and message.seq == trigger for message in messages):
        return []
    return [message for message in select.thread(conversation, _QUESTIONS) if message.turn == trigger]


def _costs(count: Callable[[str], int], used: list[ToolUsed]) -> Callable[[Remembered], int]:
    """What a message costs, with the tools that were used before it."""
    of_tools: dict[int, int] = {}
    for tool in used:
        if tool.before is not None:
            tokens = count(f"{tool.name} {tool.arguments} {tool.result}")
            of_tools[tool.before] = of_tools.get(tool.before, 0) + tokens

    def cost(message: Remembered) -> int:
        words = count(message.text)
        return words + of_tools.get(message.id, 0) if message.own else words + _FRAMED

    return cost


def _previous_starts(conversation: Conversation) -> tuple[int | None, int | None]:
    """Where the windows of this conversation's last answer began."""
    runs = Run.objects.using(db.write_alias(Run)).filter(conversation=conversation.pk, window_start__isnull=False)
    return runs.order_by("-pk").values_list("window_start", "recent_start").first() or (None, None)


def _starts(conversation: Conversation, messages: list[Remembered]) -> tuple[int | None, int | None]:
    """Where the windows begin: on the primary surface its own and that of the others, else the one of all."""
    if conversation.surface != primary_surface():
        return min((message.id for message in messages), default=None), None
    own = min((message.id for message in messages if message.own), default=None)
    return own, min((message.id for message in messages if not message.own), default=None)


def question_of(run: Run) -> str:
    """The words that a run has to answer, by the smallest possible read."""
    return (
        Message.objects.using(db.write_alias(Message))
        .filter(conversation=run.conversation_id, seq=run.trigger)
        .values_list("text", flat=True)
        .get()
    )
