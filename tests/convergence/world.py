"""The server's side of a schedule: one conversation, what is done in it, and what must be true afterwards."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import Count

from crossmemory import erase, intake, log, turns
from crossmemory.attach.fold import State, fold
from crossmemory.events import SYSTEM, Actor, DeliveryFailed, TakeoverEnded, TakeoverStarted
from crossmemory.exceptions import Fenced
from crossmemory.log import Entry
from crossmemory.models import Conversation, Event, Message, MessageChunk, MessageRevision, Owner, Run, ToolCall
from crossmemory.models.conversation import new_epoch
from crossmemory.models.guard import log_writes

TEXTS = ("hello", 'Ünïcödé 🙂 "quoted" \\ and\nlines', "x" * 2_500, "é" * 4_000, "ok")


_DECIDED = "approval.decided"
_OPEN = ("queued", "running", "awaiting_approval")
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def nothing_goes_out(run: Any, message: Any, text: str) -> None:
    """Stands for the outbox."""


class World:
    """The conversation and the agent that answers in it, step by step."""

    def __init__(self, user: Any) -> None:
        self.conversation = log.create(Owner.of(user), "web", "Trip")
        self.pk = self.conversation.pk
        self.person = Actor("user", str(user.pk))
        self.run: Run | None = None
        self.message: Message | None = None
        self.text = ""
        self.saved: dict[Any, list[dict[str, Any]]] | None = None
        self.seen: Counter[str] = Counter()  # what happened
        self.lost: set[str] = set()  # client_ids of what a restore took; a repeat under way may bring one back

    # What people do.

    def say(self, number: int) -> None:
        """Somebody says something through another door."""
        intake.say(self.conversation, TEXTS[number % len(TEXTS)], author=self.person)

    def stop(self, number: int) -> None:
        turns.request_stop(self.conversation, self.person)

    def rename(self, number: int) -> None:
        log.rename(self.conversation, f"Title {number}", self.person)

    def boundary(self, number: int) -> None:
        log.open_afresh(self.conversation, self.person)

    def redact(self, number: int) -> None:
        found = list(self._messages().exclude(status__in=["writing", "redacted"]).order_by("seq"))
        if found:
            erase.message(found[number % len(found)], self.person)

    def edit(self, number: int) -> None:
        found = list(self._messages().filter(role="user", status="complete").order_by("seq"))
        if found:
            log.edit(found[number % len(found)], f"edited {number}", self.person)

    def again(self, number: int) -> None:
        turns.answer_again(self.conversation, self.person)

    # What the agent does.

    def turn(self, number: int) -> None:
        """A whole turn while nobody looks."""
        self.say(number)
        self.claim(number)
        self.write(number)
        self.complete(number)

    def claim(self, number: int) -> None:
        if self.run is not None:
            return
        if Run.objects.filter(conversation=self.pk, status="running").exists():
            self._ends("is taken over")
        for run_id in turns.claimable()[:1]:
            self.run = turns.claim(run_id, "w", nothing_goes_out)
            self.message, self.text = None, ""
        self._rested()

    def write(self, number: int) -> None:
        """The next piece of an answer is stored."""
        piece = TEXTS[number % len(TEXTS)][: 40 + number % 900]
        if self.run is None:
            return self.claim(number)
        with self._fenced():
            if self.message is None:
                self.message = turns.begin_answer(self.run, {"count": 1}, piece)
            else:
                log.write(self.message, self.run, len(self.text), piece)
            self.text += piece
        return None

    def complete(self, number: int) -> None:
        if self.run is not None:
            self._ends("completes")
            with self._fenced():
                turns.complete(
                    self.run,
                    self.message,
                    self.text or "done",
                    saw={"count": 1},
                    degraded=False,
                    usage=None,
                    outgoing=nothing_goes_out,
                )
            self.run = None
            self._rested()

    def fail(self, number: int) -> None:
        if self.run is not None:
            self._ends("fails")
            with self._fenced():
                turns.fail(self.run, self.message, "agent_error", "Sorry.", "trace", nothing_goes_out)
            self.run = None
            self._rested()

    def obey(self, number: int) -> None:
        """The lease is renewed; a run that is asked to stop stops."""
        if self.run is not None:
            with self._fenced():
                if turns.renew(self.run):
                    self._ends("is stopped")
                    turns.stop(self.run, self.message, self.person, nothing_goes_out)
                    self.run = None
                    self._rested()

    def listen(self, number: int) -> None:
        """The agent takes what was said meanwhile."""
        if self.run is not None:
            with self._fenced():
                turns.take_steers(self.run)

    def tool(self, number: int) -> None:
        """The agent uses a tool, at once."""
        if self.run is not None:
            with self._fenced():
                call = turns.call_tool(self.run, "look", {"at": number})
                turns.finish_tool(self.run, str(call.uid), {"n": number}, "broken" if number % 3 == 0 else "")

    def ask(self, number: int) -> None:
        """The agent asks for one or two permissions, and the run waits."""
        if self.run is not None:
            requests = [
                turns.Request("bell", {"times": n, "for": TEXTS[number % len(TEXTS)]}, "Ring")
                for n in range(1 + number % 2)
            ]
            with self._fenced():
                turns.await_approval(
                    self.run,
                    self.message,
                    self.text or ("May I?" if number % 4 else ""),
                    requests,
                    {"n": number},
                    saw={"count": 1},
                    outgoing=nothing_goes_out,
                )
                self.run = None

    def expire(self, number: int) -> None:
        """Nobody decided in time."""
        ToolCall.objects.filter(conversation=self.pk, status="requested").update(expires_at=_LONG_AGO)
        turns.expire()

    def die(self, number: int) -> None:
        """The process that carries out the run is gone; its lease runs out."""
        self.run = None
        Run.objects.filter(conversation=self.pk, status="running").update(lease_until=_LONG_AGO)

    def undelivered(self, number: int) -> None:
        """A platform did not take an answer."""
        found = list(self._messages().filter(role="assistant", status="complete").order_by("seq"))
        if found:
            message = found[number % len(found)]
            told = DeliveryFailed(message=str(message.uid), surface="telegram", error="blocked")
            log.append(self.conversation, [Entry(told, SYSTEM, message=message)])

    def takeover(self, number: int) -> None:
        """Somebody of the staff joins, or leaves."""
        told = TakeoverStarted() if number % 2 else TakeoverEnded()
        log.append(self.conversation, [Entry(told, Actor("staff", "7"))])

    def trim(self, number: int) -> None:
        log.trim(self.pk)

    def _ends(self, how: str) -> None:
        """A run is about to end: what was said meanwhile must not be lost with it."""
        if log.waiting_steers(self.pk):
            self.seen[f"a run {how} while a steer waits"] += 1

    def _rested(self) -> None:
        """No run is active: then nothing that was said waits for one."""
        if Conversation.objects.filter(pk=self.pk, active_seq=None).exists():
            assert not log.waiting_steers(self.pk), "a run ended and left a steer behind"

    def _fenced(self) -> Any:
        return _Fenced(self)

    # What an operator does.

    def save(self, number: int) -> None:
        """A backup of the conversation."""
        self.saved = {model: list(rows.values()) for model, rows in self._rows().items()}

    def restore(self, number: int) -> None:
        """The backup comes back. As after every restore, the epochs change: cursors of lost history mean nothing."""
        if self.saved is None:
            return
        before = self.client_ids()
        with transaction.atomic(), log_writes():
            for model, rows in reversed(self._rows().items()):
                if model is not Conversation:
                    rows.order_by()._raw_delete("default")
            for model, values in self.saved.items():
                if model is Conversation:
                    Conversation.objects.filter(pk=self.pk).update(**values[0])
                else:
                    model.objects.bulk_create([model(**each) for each in values])
        Conversation.objects.update(epoch=new_epoch())
        self.lost |= set(before) - set(self.client_ids())
        self.seen["restored"] += 1
        self.die(0)

    def _rows(self) -> dict[Any, Any]:
        """The tables of a conversation, parents first."""
        rows = {Conversation: Conversation.objects.filter(pk=self.pk)}
        for model in (Run, ToolCall, Message, Event):
            rows[model] = model.objects.filter(conversation=self.pk)
        for model in (MessageChunk, MessageRevision):
            rows[model] = model.objects.filter(message__in=Message.objects.filter(conversation=self.pk).values("pk"))
        return rows

    def _messages(self) -> Any:
        return Message.objects.select_related("conversation").filter(conversation=self.pk)

    # The end, and what must be true then.

    def finish(self) -> None:
        """Every run comes to its end."""
        for _ in range(20):
            self.claim(0)
            self.complete(0)
            self.die(0)
            self.expire(0)
            if not Run.objects.filter(conversation=self.pk, status__in=_OPEN).exists():
                return
        raise AssertionError("runs do not end")

    def written(self, uid: str) -> str:
        """What is stored so far of a message that is being written."""
        return log.text_so_far(Message.objects.get(uid=uid).pk)

    def events(self) -> list[dict[str, Any]]:
        rows = Event.objects.filter(conversation=self.pk).order_by("seq").values_list("seq", "body", "bytes")
        for seq, body, size in rows:
            assert size == len(body.encode()), f"event {seq} counts {size} bytes"
        return [{"seq": seq, **json.loads(body)} for seq, body, _ in rows]

    def log_of(self) -> State:
        """The fold of the log as it stands, whose counters must be right."""
        row = Conversation.objects.get(pk=self.pk)
        events = self.events()
        assert [event["seq"] for event in events] == [1, *range(row.floor, row.head + 1)]
        assert row.kept_events == len(events)
        assert row.kept_bytes == sum(Event.objects.filter(conversation=self.pk).values_list("bytes", flat=True))
        self.floor = row.floor
        return fold(State(epoch=row.epoch), events)

    def client_ids(self) -> Counter[str]:
        return Counter(self._messages().filter(client_id__isnull=False).values_list("client_id", flat=True))

    def check(self, said: set[str]) -> None:
        """Nothing that was said is lost (but by a restore) or doubled; the message table tells what the log tells."""
        ids = self.client_ids()
        assert all(times == 1 for times in ids.values()), ids
        assert said - self.lost <= set(ids) <= said, (said ^ set(ids)) - self.lost
        events = self.events()
        by_client = Counter(
            event["client_id"] for event in events if event["client_id"] and event["type"] == "message.completed"
        )
        assert not by_client or by_client.most_common(1)[0][1] == 1, "a client_id with two events"
        items = {item["key"]: item for item in self.log_of().items}
        for message in self._messages().filter(seq__gte=self.floor):
            item = items[str(message.uid)]
            assert (item["seq"], item["text"], item["status"]) == (message.seq, message.text, message.status)
        assert not self._messages().filter(status="writing").exists()
        assert not MessageChunk.objects.filter(message__conversation=self.pk).exists()
        assert not self._messages().filter(steer="accepted").exists()
        _once(events, "steer.accepted", ("steer.consumed", "steer.promoted", "steer.expired"), "message")
        _once(events, "approval.requested", (_DECIDED,), "tool_call")
        decided = {each["data"]["tool_call"]: each["data"]["decision"] for each in events if each["type"] == _DECIDED}
        for call in ToolCall.objects.filter(conversation=self.pk, args_hash__gt=""):
            assert call.status != "requested"
            assert decided.get(str(call.uid), call.status) == call.status, "the log tells another decision"
        doubled = self._messages().values("seq").annotate(times=Count("pk")).filter(times__gt=1)
        assert not doubled.exists()


def _once(events: list[dict[str, Any]], first: str, then: tuple[str, ...], name: str) -> None:
    """What began ends once."""
    began = [event["data"][name] for event in events if event["type"] == first]
    ended = Counter(event["data"][name] for event in events if event["type"] in then)
    assert all(ended[each] == 1 for each in began), f"{first}: {began} {ended}"
    assert all(times == 1 for times in ended.values()), ended


class _Fenced:
    """Whoever finds that the run is not his any more leaves it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __enter__(self) -> None:
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.savepoint.__exit__(kind, error, trace)
        if kind is Fenced:
            self.world.run = None
            return True
        return False
