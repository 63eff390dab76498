"""What may happen in a schedule, how often it is drawn, and the shortest schedule that still fails."""

import random
import re
from typing import Any

Step = tuple[str, int, int]

#: how often each step is drawn; about a device, about the server, about time
DEVICE_STEPS = {
    "connect": 10,
    "connect_anew": 5,
    "connect_slowly": 4,
    "connect_elsewhere": 1,
    "break": 4,
    "half_open": 2,
    "stall": 3,
    "open": 3,
    "ring": 5,
    "say": 12,
    "repeat": 4,
    "contradict": 1,
    "decide": 6,
    "decide_together": 3,
    "ask_stop": 2,
}
WORLD_STEPS = {
    "say": 3,
    "turn": 6,
    "claim": 6,
    "write": 16,
    "complete": 7,
    "fail": 2,
    "obey": 4,
    "listen": 3,
    "tool": 1,
    "ask": 4,
    "expire": 1,
    "again": 1,
    "undelivered": 1,
    "takeover": 1,
    "die": 1,
    "stop": 1,
    "rename": 1,
    "boundary": 1,
    "redact": 1,
    "edit": 1,
    "trim": 1,
    "save": 2,
    "restore": 2,
}
#: steps that mean something only one after another, on one device; None: any number
SCENES: dict[str, list[tuple[str, int | None]]] = (
    {
        f"a steer when the run {how}": [
            *(("world.say", None), ("world.claim", None), ("world.write", None), ("device.say", None)),
            *((step, None) for step in ending),
        ]
        for how, ending in {
            "completes": ["world.complete"],
            "has heard it and completes": ["world.listen", "world.complete"],
            "fails": ["world.fail"],
            "is stopped": ["device.ask_stop", "world.stop", "world.obey"],
            "is taken over": ["world.die", "world.claim"],
            "waits": ["world.ask", "world.expire"],
        }.items()
    }
    | {
        f"a request that {how}": [
            *(("world.say", None), ("world.claim", None), ("world.ask", None), ("device.ring", None)),
            *deciding,
            *(("world.claim", None), ("world.write", None), ("world.complete", None)),
        ]
        for how, deciding in {
            "one decides": [("device.decide", 1)],
            "one denies": [("device.decide", 3)],
            "one decides who saw other arguments": [("device.decide", 7)],
            "all decide": [("device.decide_together", 1)],
            "all decide too late": [("device.decide_together", 0)],
            "one decides while it is stopped": [("device.ask_stop", None), ("device.decide_together", 1)],
        }.items()
    }
    | {
        "an answer that streams": [
            *(("world.say", None), ("world.claim", None), ("world.write", None), ("device.ring", None)),
            *(("world.write", None), ("device.break", None), ("device.ring", None), ("device.connect", None)),
            *(("world.write", None), ("device.ring", None), ("world.complete", None)),
        ],
        "tools": [
            *(("world.say", None), ("world.claim", None), ("world.tool", 1), ("world.tool", 3)),
            *(("device.ring", None), ("world.complete", None)),
        ],
        "a backup that comes back": [
            *(("world.turn", None), ("world.save", None), ("device.say", None), ("world.turn", None)),
            *(("device.ring", None), ("world.restore", None), ("device.say", None), ("world.turn", None)),
        ],
        "words taken back": [("world.turn", None), ("device.ring", None), ("world.redact", None), ("world.turn", None)],
        "a replay overtaken by trimming": [
            *[("world.turn", 3)] * 4,
            ("device.connect_slowly", 5),
            ("bounds", 6),
            *[("world.turn", 3)] * 3,
            ("device.open", None),
        ],
    }
)
SCENE_WEIGHT = 2
OTHER_STEPS = {"tick": 2, "slow": 6, "answer": 6}
WORDS = [
    *SCENES,
    *(f"device.{name}" for name in DEVICE_STEPS),
    *(f"world.{name}" for name in WORLD_STEPS),
    *OTHER_STEPS,
]
WEIGHTS = [*(SCENE_WEIGHT for _ in SCENES), *DEVICE_STEPS.values(), *WORLD_STEPS.values(), *OTHER_STEPS.values()]


def draw(seed: int) -> list[Step]:
    """The steps of a seed: the log's bound, then what happens. Each seed favours some steps and leaves out others."""
    rng = random.Random(seed)
    length = rng.choice((6, 12, 20, 40))
    favour = [weight * rng.choice((0, 1, 1, 4)) for weight in WEIGHTS]
    steps = [("bounds", rng.choice((6, 6, 10, 16, 40, 10_000)), 0)]
    for word in rng.choices(WORDS, favour, k=length):
        device = rng.randrange(4)
        for step, number in SCENES.get(word, [(word, None)]):
            while word in SCENES and rng.random() < 0.15:  # something else comes between
                steps.append((rng.choice(WORDS[len(SCENES) :]), rng.randrange(4), rng.randrange(1_000)))
            value = rng.randrange(1_000) if number is None else number
            steps.append((step, value, 0) if step == "bounds" else (step, device, value))
    return steps


def kind_of(error: BaseException) -> str:
    """What two failures have in common: the place, and the words before the first value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    words = re.sub(r"[0-9]|while runs are open|at the end", "", str(error))[:30]
    return f"{type(error).__name__} {trace.tb_lineno if trace else 0} {words}"


def shortened(steps: list[Step], fails: Any) -> list[Step]:
    """Leave out steps as long as it still fails."""
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            if fails(fewer):
                steps = fewer
            else:
                at += size
        size //= 2
    return steps
