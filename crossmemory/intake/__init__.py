"""Intake: carries out what people say, decide and command, whatever surface it came from."""

from crossmemory.intake.commands import menus
from crossmemory.intake.decisions import adecide, answer_again, decide
from crossmemory.intake.inbound import Prepared, handle
from crossmemory.intake.messages import asay, say, say_on_the_page
from crossmemory.intake.unlinking import unlink

__all__ = [
    "Prepared",
    "adecide",
    "answer_again",
    "asay",
    "decide",
    "handle",
    "menus",
    "say",
    "say_on_the_page",
    "unlink",
]
