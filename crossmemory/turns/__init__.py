"""The states of a run: queued → running (→ awaiting approval → running) → completed, failed, stopped or abandoned.

Every move is one transaction: the events of the log, the run's row, and what must go out with it. `attempt` is the
fencing number: a process that slept through its lease finds another one and changes nothing (Fenced). Lease time is
the database's clock.
"""

from crossmemory import db
from crossmemory.turns.approvals import (
    AlreadyDecided,
    Decided,
    NotHere,
    OtherArguments,
    Request,
    SignInAgain,
    await_approval,
    call_tool,
    decide,
    decisions,
    expire,
    finish_tool,
    hash_of,
    pending,
    take_steers,
)
from crossmemory.turns.asking import answer_again, request_stop, wait_for_more
from crossmemory.turns.claiming import active_worker, claim, claimable, note_context, renew
from crossmemory.turns.ending import abandon, begin_answer, complete, fail, stop
from crossmemory.turns.moves import Outgoing, Status

aanswer_again = db.twin(answer_again)
aawait_approval = db.twin(await_approval)
abegin_answer = db.twin(begin_answer)
acall_tool = db.twin(call_tool)
aclaim = db.twin(claim)
aclaimable = db.twin(claimable)
acomplete = db.twin(complete)
adecisions = db.twin(decisions)
aexpire = db.twin(expire)
afail = db.twin(fail)
afinish_tool = db.twin(finish_tool)
anote_context = db.twin(note_context)
arenew = db.twin(renew)
arequest_stop = db.twin(request_stop)
astop = db.twin(stop)
atake_steers = db.twin(take_steers)

__all__ = [
    "AlreadyDecided",
    "Decided",
    "NotHere",
    "OtherArguments",
    "Outgoing",
    "Request",
    "SignInAgain",
    "Status",
    "aanswer_again",
    "aawait_approval",
    "abandon",
    "abegin_answer",
    "acall_tool",
    "aclaim",
    "aclaimable",
    "acomplete",
    "active_worker",
    "adecisions",
    "aexpire",
    "afail",
    "afinish_tool",
    "anote_context",
    "answer_again",
    "arenew",
    "arequest_stop",
    "astop",
    "atake_steers",
    "await_approval",
    "begin_answer",
    "call_tool",
    "claim",
    "claimable",
    "complete",
    "decide",
    "decisions",
    "expire",
    "fail",
    "finish_tool",
    "hash_of",
    "note_context",
    "pending",
    "renew",
    "request_stop",
    "stop",
    "take_steers",
    "wait_for_more",
]
