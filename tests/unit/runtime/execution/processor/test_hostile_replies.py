"""Whatever a model replies: no exact step is wrong, done twice or left out.

What really happened is compared with what the program comes to when its exact steps are computed from the answers that
were accepted. A run of 10,000 replies: `HOSTILE_REPLIES=10000 python -m pytest` with this file.
"""

import os
import random
from collections.abc import Mapping
from typing import Any

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import talking
from tests.unit.runtime.execution.processor.computed import Computed, accepted, done
from tests.unit.runtime.execution.processor.hostile import PEOPLE, HostileModel
from tests.unit.runtime.execution.processor.walking import compiled, main

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
    "- While there is more to buy",
    '  - $more:int = Price("more")',
    "- Compute the $tip:int from what was said",
    "- $paid:str = Pay(amount=$amount, tip=$tip, fee=$fee)",
    '- Say "{paid}"',
    "- End program",
    code=SHOP,
)


class Bought(Computed):
    """The program above."""

    def program(self) -> None:
        self.at("01")
        given = self._asked()
        if given is None:
            return
        for item in ("tea", "ox"):
            self.at("02")
            self.at("02.01")
            price = self.call("Price", len(item) * 10, item=item)
            self.at("02.02")
            if price > 25:
                self.at("02.02.01")
                self.said()
            self.at("02.03")
        self.at("02")
        self.at("03")
        hurry = self.answer() == "yes"
        if not hurry:
            self.at("04")
        self.at("03.01" if hurry else "04.01")
        fee = self.call("Fee", 9 if hurry else 2, way="express" if hurry else "slow")
        self.at("05")
        while self.answer() == "yes":
            self.at("05.01")
            self.call("Price", 40, item="more")
            self.at("05.02")
            self.at("05")
        self.at("06")
        tip = self.answer()["tip"]
        assert type(tip) is int
        self.at("07")
        paid = self.call("Pay", f"paid {given} + {tip} + {fee}", amount=given, tip=tip, fee=fee)
        self.at("08")
        assert self.said() == paid
        self.at("09")

    def _asked(self) -> int | None:
        """The amount, which cannot be skipped; None where everything was called off."""
        words = self.said()
        known: dict[str, Any] = {}
        while True:
            understood = self.answer()
            does = understood["does"]
            if does == "answer":
                known |= {name: value for name, value in understood["values"].items() if value is not None}
                if known.keys() >= {"amount", "name"}:
                    return self._amount(known)
                words = self.said()
            elif does == "skip" and "amount" in known:
                return self._amount(known)
            elif does == "repeat":
                assert self.said() == words
            else:
                words = self.said()
                if does == "cancel":
                    return None

    @staticmethod
    def _amount(known: Mapping[str, Any]) -> int:
        assert type(known["amount"]) is int
        return int(known["amount"])


async def check(seed: int, sandbox: MontySandbox) -> tuple[int, bool]:
    """One talk; how many replies it took, and whether it came to the payment."""
    rng = random.Random(seed)
    model = HostileModel(rng)
    async with talking(await compiled(PROGRAM), model, sandbox, world=World(())) as talk:
        for _ in range(MAX_MESSAGES):
            await talk.say(rng.choice(PEOPLE))
            if talk.facts("ended") or any(event.name in ENDED for event in talk.events):
                break
        assert done(talk) == Bought(accepted(talk)).run()
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
