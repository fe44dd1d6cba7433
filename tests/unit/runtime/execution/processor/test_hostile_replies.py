"""Whatever a model replies: no exact step is wrong, done twice or left out.

What really happened is compared with what the program comes to when its exact steps are computed from the answers that
were accepted. A run of 10,000 replies: `HOSTILE_REPLIES=10000 python -m pytest` with this file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crash_world import World
from tests.fakes.talk import Talk, talking
from tests.unit.runtime.execution.processor.hostile import PEOPLE, HostileModel
from tests.unit.runtime.execution.processor.walking import compiled, main

pytestmark = pytest.mark.anyio

REPLIES = int(os.environ.get("HOSTILE_REPLIES", "600"))

MAX_MESSAGES = 12

ENDED = frozenset({"playbook.failed", "playbook.returned"})
"""The program has come to its end, or was given up."""

SHOP = '''
@playbook
async def Price(item: str) -> int:
    """What an item costs."""
    return len(item) * 10

@playbook
async def Fee(way: str) -> int:
    """What sending costs."""
    return {"express": 9, "slow": 2}[way]

@playbook
async def Pay(amount: int, tip: int, fee: int) -> str:
    """Pay."""
    return f"paid {amount} + {tip} + {fee}"
'''

PROGRAM = main(
    "- Ask the user for the $amount:int and their $name:str",
    '- For each $item in ["tea", "ox"]',
    "  - $price:int = Price($item)",
    "  - If $price > 25",
    "    - Tell the user about the $item",
    "- If the user is in a hurry",
    '  - $fee:int = Fee("express")',
    "- Otherwise",
    '  - $fee:int = Fee("slow")',
    "- While the user wants more",
    '  - $more:int = Price("more")',
    "- Compute the $tip:int from what was said",
    "- $paid:str = Pay(amount=$amount, tip=$tip, fee=$fee)",
    '- Say "{paid}"',
    "- End program",
    code=SHOP,
)

Deed = tuple[str, Any]
"""A step that control came to, or a call with its arguments."""


class Over(Exception):
    """Nothing more was answered."""


class Computed:
    """The program's exact steps, computed from what was accepted of a model: its answers and messages, in order."""

    def __init__(self, accepted: Iterator[Deed]) -> None:
        self._accepted = accepted
        self.deeds: list[Deed] = []

    def run(self) -> list[Deed]:
        try:
            self._program()
        except Over:
            pass
        else:
            assert next(self._accepted, None) is None, "more was said and answered than the program asks for"
        return self.deeds

    def _program(self) -> None:
        self._at("01")
        given = self._asked()
        if given is None:
            return
        for item in ("tea", "ox"):
            self._at("02")
            self._at("02.01")
            price = self._call("Price", len(item) * 10, item=item)
            self._at("02.02")
            if price > 25:
                self._at("02.02.01")
                self._said()
            self._at("02.03")
        self._at("02")
        self._at("03")
        hurry = self._answer() == "yes"
        if not hurry:
            self._at("04")
        self._at("03.01" if hurry else "04.01")
        fee = self._call("Fee", 9 if hurry else 2, way="express" if hurry else "slow")
        self._at("05")
        while self._answer() == "yes":
            self._at("05.01")
            self._call("Price", 40, item="more")
            self._at("05.02")
            self._at("05")
        self._at("06")
        tip = self._answer()["tip"]
        assert type(tip) is int
        self._at("07")
        paid = self._call("Pay", f"paid {given} + {tip} + {fee}", amount=given, tip=tip, fee=fee)
        self._at("08")
        assert self._said() == paid
        self._at("09")

    def _asked(self) -> int | str | None:
        """The amount: "None" where that was skipped, None where everything was called off."""
        words = self._said()
        known: dict[str, Any] = {}
        while True:
            understood = self._answer()
            does = understood["does"]
            if does == "answer":
                known |= {name: value for name, value in understood["values"].items() if value is not None}
                if known.keys() >= {"amount", "name"}:
                    return self._amount(known)
                words = self._said()
            elif does == "skip":
                return self._amount(known)
            elif does == "repeat":
                assert self._said() == words
            else:
                words = self._said()
                if does == "cancel":
                    return None

    @staticmethod
    def _amount(known: Mapping[str, Any]) -> int | str:
        if "amount" not in known:
            return "None"
        assert type(known["amount"]) is int
        return int(known["amount"])

    def _at(self, line: str) -> None:
        self.deeds.append(("step", line))

    def _call(self, name: str, value: Any, **args: Any) -> Any:
        self.deeds.append((name, {key: None if one == "None" else one for key, one in args.items()}))
        return value

    def _answer(self) -> Any:
        return self._next("answer")

    def _said(self) -> Any:
        return self._next("said")

    def _next(self, kind: str) -> Any:
        found = next(self._accepted, None)
        if found is None:
            raise Over
        assert found[0] == kind, f"{kind} was due, and not {found}"
        return found[1]


def accepted(talk: Talk) -> Iterator[Deed]:
    """What was taken of the model's replies, in order."""
    for fact in talk.world.facts:
        data = fact.data
        if fact.kind == "res" and data["name"] == "Answer":
            yield "answer", data["val"]
        elif fact.kind == "fin" and data.get("name") == "Say":
            yield "said", data["text"]


def done(talk: Talk) -> list[Deed]:
    """The steps and calls that really were, in order."""
    found: list[Deed] = []
    for fact in talk.world.facts:
        data: Mapping[str, Any] = fact.data
        if fact.kind == "step":
            found.append(("step", data["at"]))
        elif fact.kind == "start" and data.get("up"):
            found.append((data["pb"], data["kwargs"]))
    return found


async def check(seed: int, sandbox: MontySandbox) -> tuple[int, bool]:
    """One talk; how many replies it took, and whether it came to the payment."""
    rng = random.Random(seed)
    model = HostileModel(rng)
    async with talking(await compiled(PROGRAM), model, sandbox, world=World(())) as talk:
        for _ in range(MAX_MESSAGES):
            await talk.say(rng.choice(PEOPLE))
            if talk.facts("ended") or any(event.name in ENDED for event in talk.events):
                break
        assert done(talk) == Computed(accepted(talk)).run()
        return model.replies, any(name == "Pay" for name, _ in done(talk))


async def test_no_reply_makes_an_exact_step_wrong_double_or_left_out(sandbox: MontySandbox) -> None:
    seed = replies = paid = 0
    while replies < REPLIES:
        try:
            count, came_to_pay = await check(seed, sandbox)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        replies, paid, seed = replies + count, paid + came_to_pay, seed + 1
    assert paid > seed / 20, "hardly any talk came to the payment"
