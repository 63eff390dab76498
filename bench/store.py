"""Storing a person's message with its queued run and doorbell ÷ the same statement through raw psycopg."""

import uuid
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import psycopg
from django.db import connections

from bench.database import using
from bench.people import fresh_conversations, person
from bench.rounds import Times, each, ratio, take_turns
from bench.table import Row, ratio_row, say
from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage, QueueRun
from crossmemory.models import Conversation

_TEXT = "The dentist moved us to Thursday at nine: please remind me to bring the forms."


def measure(quick: bool) -> list[Row]:
    rounds, batch = (8, 20) if quick else (30, 40)
    rows = []
    for commit in ("off", "on"):
        say(f"store: {rounds} rounds of {batch} messages, synchronous_commit={commit}")
        times = _times(rounds, batch, commit)
        for alias, options, bound in (
            ("default", "Django's default OPTIONS", 0.2),
            ("bound", "server_side_binding, prepare_threshold", 0.4),
        ):
            # Waiting for the disk is the same on both sides and flatters the ratio: then there is no target.
            rows.append(
                ratio_row(
                    f"store, {options}" + ("" if commit == "off" else ", waiting for the disk"),
                    "raw prepared statement ÷ log.append_message with run and doorbell",
                    ratio(times, "raw", alias),
                    ("≥", bound) if commit == "off" else None,
                )
            )
            say(f"store: {_micros(times[alias])} µs a message ({alias}), raw {_micros(times['raw'])} µs")
    return rows


def _micros(seconds: Sequence[float]) -> int:
    return round(median(seconds) * 1e6)


def _times(rounds: int, batch: int, commit: str) -> Times:
    user = person("store")
    raw = _raw_connection()
    raw.execute(f"SET synchronous_commit = {commit}")
    for alias in ("default", "bound"):
        with connections[alias].cursor() as cursor:
            cursor.execute(f"SET synchronous_commit = {commit}")

    def execute(sql: str, parameters: Any) -> None:
        raw.execute(sql, parameters, prepare=True).fetchone()

    def ours(alias: str) -> Callable[[], float]:
        def timed() -> float:
            with using(alias):
                return each(
                    [
                        partial(log.append_message, conversation, _message(user), QueueRun("default"))
                        for conversation in fresh_conversations(user, batch)
                    ]
                )

        return timed

    def by_hand() -> float:
        return each(
            [partial(execute, *_statement(conversation, user)) for conversation in fresh_conversations(user, batch)]
        )

    variants = {"raw": by_hand, "default": ours("default"), "bound": ours("bound")}
    take_turns(variants, 2)  # so that all is prepared and warm
    times = take_turns(variants, rounds)
    raw.close()
    return times


def _message(user: Any) -> NewMessage:
    return NewMessage("user", Actor("user", str(user.pk)), _TEXT, client_id=str(uuid.uuid4()))


def _raw_connection() -> psycopg.Connection[Any]:
    parameters = connections["default"].get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.connect(autocommit=True, **{name: parameters[name] for name in names if name in parameters})


class _Caught(Exception):
    """The statement, instead of its execution."""

    def __init__(self, sql: str, parameters: Any) -> None:
        super().__init__(sql)
        self.sql = sql
        self.parameters = parameters


def _statement(conversation: Conversation, user: Any) -> tuple[str, Any]:
    """What the app would execute to store a message here."""

    def catch(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> None:
        raise _Caught(sql, parameters)

    with using("bound"), connections["bound"].execute_wrapper(catch):
        try:
            log.append_message(conversation, _message(user), QueueRun("default"))
        except _Caught as caught:
            return caught.sql, caught.parameters
    raise AssertionError("append_message executed nothing.")
