"""The scenes of the demo page in words: what each shows, its steps, and what is typed. What they do is in scenes.js.

`{code}` and its like in a phrase are filled in by the page, anew in each run, so that a scene can be played again.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words = _StrPromise | str


@dataclass(frozen=True, slots=True)
class Step:
    key: str
    text: "Words"


@dataclass(frozen=True, slots=True)
class Scene:
    key: str
    title: "Words"
    #: what is true at the end, in one sentence
    promise: "Words"
    steps: tuple[Step, ...]
    #: what is typed, by the name that scenes.js uses
    phrases: "dict[str, Words]"
    #: plays on the phone, which is not ours on the real Telegram
    phone: bool = True


SCENES = (
    Scene(
        "tell",
        _("Tell the web, ask the phone"),
        _("What you say on the page, the assistant knows on Telegram."),
        (
            Step("say", _("You say it on the page")),
            Step("noted", _("The answer is saved on the page")),
            Step("ask", _("You ask on the phone")),
            Step("knows", _("The phone knows it")),
        ),
        {
            "fact": _("My ferry to Chios leaves from gate {code} today."),
            "question": _("From which gate does my ferry leave?"),
        },
    ),
    Scene(
        "saw",
        _("What the assistant saw"),
        _("Each answer shows which messages it was made from, also those from elsewhere."),
        (
            Step("say", _("You say it on the phone")),
            Step("ask", _("You ask on the page")),
            Step("knows", _("The page knows it")),
            Step("open", _("The fold below the answer is opened")),
            Step("seen", _("The phone's message is in it")),
        ),
        {
            "fact": _("The luggage locker at the harbour has the code {code}."),
            "question": _("What is the code of the luggage locker?"),
        },
    ),
    Scene(
        "private",
        _("A chat kept out of memory"),
        _("What is said in a chat that is kept out of memory is known in that chat only."),
        (
            Step("new", _("A new chat, kept out of memory")),
            Step("say", _("You say it there")),
            Step("here", _("The same chat knows it")),
            Step("ask", _("You ask on the phone")),
            Step("unknown", _("The phone does not know it")),
        ),
        {
            "fact": _("The surprise cake for Nikos has the order number {code}."),
            "question": _("What is the order number of the surprise cake?"),
        },
    ),
    Scene(
        "correction",
        _("A correction wins"),
        _("What is said later on the phone counts on the page."),
        (
            Step("say", _("You say it on the page")),
            Step("correct", _("You correct it on the phone")),
            Step("ask", _("You ask on the page")),
            Step("newer", _("The correction comes first")),
        ),
        {
            "fact": _("The dentist expects me in room {code}."),
            "correction": _("Correction: the dentist expects me in room {other}."),
            "question": _("In which room does the dentist expect me?"),
        },
    ),
    Scene(
        "kill",
        _("Kill the bot in mid-answer"),
        _("The bot is killed while it writes. It comes back, and there is exactly one answer."),
        (
            Step("tell", _("You tell the phone a long list")),
            Step("ask", _("You ask on the phone")),
            Step("writes", _("The bot is writing")),
            Step("kill", _("Its process is killed (kill -9)")),
            Step("back", _("It is started again")),
            Step("answer", _("The answer is there")),
            Step("once", _("There is only one")),
        ),
        {
            # Long enough that reading it out takes longer than noticing that the bot writes.
            "fact": _(
                "For the trip, list {code}: passports, ferry tickets, two towels, sunscreen, the blue hat, swimsuits,"
                " a torch with batteries, the first-aid kit, the camera, chargers, a map of the island, olives, bread,"
                " cheese, a bottle of water for each of us, and the book that Nikos lent me."
            ),
            "question": _("What do you remember?"),
            "marker": _("Are you there again?"),
        },
    ),
    Scene(
        "five",
        _("One update, five times"),
        _("Telegram may deliver an update more than once. It is answered once."),
        (
            Step("say", _("Telegram delivers one message five times")),
            Step("reply", _("The bot replies")),
            Step("marker", _("Another message, another reply")),
            Step("once", _("The five had one reply")),
        ),
        {
            "fact": _("The meeting is in room {code}."),
            "marker": _("In which room is the meeting?"),
        },
    ),
    Scene(
        "airplane",
        _("Airplane mode and two tabs"),
        _("What is written offline is sent once, and both tabs show the same order."),
        (
            Step("first", _("You write in this tab")),
            Step("second", _("A second tab opens the same chat")),
            Step("off", _("The second tab goes into airplane mode")),
            Step("waits", _("What you write there waits")),
            Step("meanwhile", _("You write in this tab meanwhile")),
            Step("on", _("The second tab is back, and sends once")),
            Step("same", _("Both tabs show the same order")),
        ),
        {
            "first": _("Packing list {code}: passport."),
            "offline": _("Packing list {code}: sunscreen, written offline."),
            "meanwhile": _("Packing list {code}: swimsuit, written meanwhile."),
        },
        phone=False,
    ),
    Scene(
        "approval",
        _("A tool asks first"),
        _("The assistant uses the bell only after you said yes."),
        (
            Step("ask", _("You ask for the bell")),
            Step("card", _("The assistant asks before it rings")),
            Step("approve", _("You approve it")),
            Step("done", _("The bell rings")),
        ),
        {"wish": _("Please ring the harbour bell."), "sound": _("Ding")},
        phone=False,
    ),
    Scene(
        "steer",
        _("A word in between"),
        _("What you say while an answer is being written is heard in it, and answered once."),
        (
            Step("ask", _("You ask for something long")),
            Step("writes", _("The assistant is writing")),
            Step("say", _("You say something in between")),
            Step("heard", _("The same answer has heard it")),
            Step("once", _("There is only one")),
        ),
        {"wish": _("Count to 30."), "steer": _("A little faster please, {code}.")},
        phone=False,
    ),
)
