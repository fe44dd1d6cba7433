"""Facts in any order that the fold takes, with any data."""

import random
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.core.errors import Divergence
from runtime.core.ids import AgentId
from runtime.tape.facts.registry import KINDS as CONTENT
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply
from runtime.tape.state.session import SessionState

REFERS: Mapping[str, tuple[str, ...]] = {
    "agent": (
        "in",
        "aside",
        "changed",
        "recalled",
        "feedback",
        "dropped",
        "start",
        "stop",
        "anew",
        "paused",
        "page",
        "heard",
        "closed",
        "posted",
        "fetched",
    ),
    "f": (
        *("turn", "stmt", "done", "failed", "rej", "end", "ret", "res", "set", "wait", "took", "steer", "park", "ask"),
        *("fin", "page", "meeting", "hears", "acks"),
    ),
    "page": ("opening", "grew", "sent", "fin", "close", "moved", "shown", "ask", "closed", "settled"),
    "id": (
        "inviting",
        "asked",
        "invite",
        "joined",
        "left",
        "meeting_active",
        "spoke",
        "cue",
        "meeting_end",
        "shared",
        "place",
        "place_lost",
    ),
    "host": ("meeting",),
    "pid": ("changed", "recalled", "feedback"),
}
"""What has to be there, by the name under which a fact refers to it, for facts of these kinds."""

KINDS = (
    *("agent", "person", "file", "marking", "marked", "wake", "broken", "begin"),
    *sorted({kind for kinds in REFERS.values() for kind in kinds}),
)

OFTEN = ("agent", "in", "start", "page", "sent", "res")

Told = tuple[str, Mapping[str, Any]]


class Facts:
    """Draws facts that can follow each other. Every call gives the next one."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._state = SessionState()

    def __call__(self) -> Told:
        while True:
            kind = self._rng.choice([*KINDS, *OFTEN])
            try:
                data = self._data(kind)
                apply(self._state, self._state.seq + 1, content_of(kind, data))
            except (IndexError, KeyError, Divergence):
                continue
            return kind, data

    def _one(self, names: Collection[str]) -> str:
        """A name that is known; IndexError when none is."""
        return self._rng.choice(list(names))

    def _value(self, depth: int = 2) -> Any:
        plain: tuple[Any, ...] = (None, True, -1, 2**70, 0.5, float("inf"), "", "ü👋\u0000\n", [], {}, "1")
        if not depth or self._rng.random() < 0.5:
            return self._rng.choice(plain)
        if self._rng.random() < 0.5:
            return [self._value(depth - 1) for _ in range(self._rng.randrange(3))]
        return {str(number): self._value(depth - 1) for number in range(self._rng.randrange(3))}

    def _variables(self) -> dict[str, Any]:
        return {name: self._value() for name in self._rng.sample(["a", "b", "1"], self._rng.randrange(4))}

    def _message(self) -> dict[str, Any]:
        about: dict[str, Any] = {
            "id": f"m{self._state.seq}",
            "from": "test:1",
            "class": "Human",
            "text": "Grüße",
            "at": datetime(2026, 1, 1, tzinfo=UTC).isoformat(),
        }
        more = {
            "type": self._rng.choice(["direct", "edited", "unheard-of"]),
            "targets": ["1000", "1001"],
            "files": [["a", "text/plain", "file:1", None]],
            "human": True,
            "quote": ["1", "Ada", "so?"],
            "before": "",
            "ack": True,
        }
        return about | {name: more[name] for name in more if self._rng.random() < 0.3}

    def _data(self, kind: str) -> dict[str, Any]:
        seq = str(self._state.seq)
        names = self._names(kind, seq)  # first: often there is nothing yet that the fact could refer to
        places = [["test", "1", "t1"], ["test", "2", None]]
        made: dict[str, Any] = {
            "place": self._rng.choice(places if kind == "place" else [None, *places]),
            "pos": self._rng.choice("0123"),
            "name": self._rng.choice(["Say", "Step", "name"]),
            "dig": "d",
            "id": seq,
            "class": "Greeter",
            "text": "hello " * self._rng.randrange(200),
            "person": "test:1",
            "private": self._rng.random() < 0.5,
            "type": "text/plain",
            "url": f"file:{self._rng.randrange(60)}",
            "program": "digest",
            "why": "so",
            "src": 'await Say("user", "x")',
            "prelude": ["import re"],
            "rule": "r",
            "how": self._rng.choice(["return", "yield"]),
            "source": {"any": True},
            "due": self._rng.choice([None, 5.0]),
            "fired": ["1"],
            "part": self._rng.randrange(3),
            "at": self._rng.randrange(3),
            "pid": f"p{self._rng.randrange(40)}",
            "mark": self._rng.choice(["seen", "queued"]),
            "parts": {"0": "p1"},
            "free": True,
            "reply": self._rng.choice([None, "p3"]),
            "options": ["a", "b"],
            "topic": "t",
            "who": "1001",
            "by": "1000",
            "times": 1,
            "required": True,
            "status": "created",
            "heard": "h",
            "said": self._rng.choice([None, "s"]),
            "waits": self._rng.choice([None, {"any": True}]),
            "pb": "Main",
            "version": "v",
            "to": self._rng.choice(["user", "agent 1001"]),
            "choices": [["1", "yes"]],
            "where": self._rng.choice([None, ["Main", "Ship", "Ship:01:QUE", ["a.pb:3 in ship"]]]),
            "given": self._rng.choice([None, [["image", "file:1", 5, 0], ["text", "file:2", 7, 1]]]),
            "note": self._rng.choice(["", "cut"]),
            "file": self._rng.choice([None, ["a", "text/plain", "file:1", 5]]),
        }
        return made | self._values(kind) | names

    def _values(self, kind: str) -> dict[str, Any]:
        """Those of a fact of this kind that may be anything."""
        draws: Mapping[str, Callable[[], Any]] = {
            "val": self._value,
            "args": lambda: [self._value()],
            **dict.fromkeys(("vars", "set", "loc", "kwargs"), self._variables),
        }
        kept = {stored.name for stored in CONTENT[kind].keys.values()}
        return {name: draw() for name, draw in draws.items() if name in kept}

    def _names(self, kind: str, seq: str) -> dict[str, Any]:
        """What a fact refers to."""
        state = self._state
        known: Mapping[str, Collection[str]] = {
            "agent": state.agents,
            "f": state.frames,
            "page": state.pages,
            "id": state.meetings,
            "host": state.agents,
            "pid": state.heard,
        }
        names = {name: self._one(known[name]) for name, kinds in REFERS.items() if kind in kinds}
        if kind in ("dropped", "took", "steer", "posted", "fetched"):
            agent = names.get("agent") or state.frames[names["f"]].agent
            return names | {"mids": [m.id for m in state.agents[AgentId(agent)].queue][: self._rng.randrange(1, 3)]}
        if kind == "acks":
            return names | {"message": f"m{seq}", "who": ["1001", "human"], "page": self._rng.choice([None, "3"])}
        if kind == "shared":
            return names | {"name": self._rng.choice("ab"), "value": {"x": [seq]}, "by": "1000"}
        if kind == "feedback":
            return names | {"person": "test:Ada", "rating": self._rng.choice(["up", "none"]), "step": "Main.Main"}
        if kind == "invite":
            return names | {"agent": "1001", "answer": self._rng.choice(["", "REJECTED - busy"])}
        if kind in ("in", "aside", "spoke", "hears", "cue"):
            return names | {"message": self._message()}
        if kind in ("changed", "recalled", "heard"):
            return names | {"message": f"m{self._rng.randrange(99)}"}
        if kind == "failed" or (kind in ("res", "ret") and self._rng.random() < 0.5):
            return names | {"exc": ["ValueError", "no"]}
        return names | (self._start(seq) if kind == "start" else {})

    def _start(self, seq: str) -> dict[str, Any]:
        if not self._state.frames or self._rng.random() < 0.5:
            return {"f": seq}
        caller = self._one(self._state.frames)
        up = {"frame": caller, "pos": "1", "name": "Main", "digest": "d", "hidden": self._rng.random() < 0.5}
        return {"f": f"{caller}:{seq}", "up": up}
