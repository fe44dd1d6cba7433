"""Whatever a model takes for a correction: control goes back where it can, and nothing irrevocable is repeated."""

import random
from typing import Any

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import talking
from tests.unit.runtime.execution.processor.computed import Computed, accepted, done
from tests.unit.runtime.execution.processor.hostile import PEOPLE, HostileModel
from tests.unit.runtime.execution.processor.walking import compiled, main

TALKS = 60

MAX_MESSAGES = 14

BANK = '''
@playbook(pure=True)
async def Fee(amount: int) -> int:
    """What it costs to send an amount."""
    return amount * 2

@playbook
async def Pay(amount: int, fee: int) -> str:
    """Pay."""
    return f"paid {amount} + {fee}"
'''

PROGRAM = main(
    "- Ask the user for the $amount:int and their $name:str",
    "- $fee:int = Fee($amount)",
    "- Ask the user for the $number:int and their $bank:str",
    "- $paid:str = Pay(amount=$number, fee=$fee)",
    "- Ask the user for the $stars:int and their $town:str",
    '- Say "{name}, {bank}, {town}: {paid}"',
    "- End program",
    code=BANK,
)

WANTED = {"01": ("amount", "name"), "03": ("number", "bank"), "05": ("stars", "town")}
NEEDED = {"amount", "number"}

UNDERSTOOD = (
    '{"does": "answer", "amount": 5, "name": "Ada", "number": 7, "bank": "A", "stars": 3, "town": "Rome"}',
    '{"does": "answer", "amount": 6, "name": "Eva", "number": 8, "bank": "B", "stars": 4, "town": "Oslo"}',
    '{"does": "answer", "amount": 9, "name": null, "number": 9, "bank": null, "stars": 9, "town": null}',
    '{"does": "correct", "amount": 70}',
    '{"does": "correct", "name": "Bo"}',
    '{"does": "correct", "number": "71", "bank": "C"}',
    '{"does": "correct", "bank": "D"}',
    '{"does": "correct", "amount": 72, "name": "Cy", "number": 73}',
    '{"does": "other"}',
)


def shown(value: str | None) -> str:
    """As a message has it."""
    return "not given" if value is None else value


class Back(Exception):
    """Control goes back to the fee."""


class Corrected(Computed):
    """The program above."""

    def program(self) -> None:
        self.known: dict[str, Any] = {}
        self.at("01")
        if not self._asked("01"):
            return
        self.at("02")
        fee = self._fee()
        self.at("03")
        while True:
            try:
                if not self._asked("03"):
                    return
                break
            except Back:
                fee = self._fee()
                self.at("03")
        self.at("04")
        paid = self.call("Pay", f"paid {self.known['number']} + {fee}", amount=self.known["number"], fee=fee)
        self.at("05")
        if not self._asked("05"):
            return
        self.at("06")
        known = self.known
        assert self.said() == f"{shown(known['name'])}, {shown(known['bank'])}, {shown(known['town'])}: {paid}"
        self.at("07")

    def _fee(self) -> int:
        amount = self.known["amount"]
        self.call("Fee", None, amount=amount)
        return int(amount * 2)

    def _asked(self, line: str) -> bool:
        """Ask until all is given; False when the person wants to stop."""
        words = self.said()
        given: set[str] = set()
        while True:
            understood = self.answer()
            does, values = understood["does"], understood["values"]
            if does == "answer":
                found = {name: value for name, value in values.items() if value is not None}
                assert found.keys() <= set(WANTED[line])
                self.known |= found
                given |= found.keys()
                if given >= set(WANTED[line]):
                    return True
            elif does == "skip" and not NEEDED & (set(WANTED[line]) - given):
                self.known |= {name: None for name in WANTED[line] if name not in given}
                return True
            elif does == "correct":
                self._correct(line, values)
            elif does == "repeat":
                assert self.said() == words
                continue
            said = self.said()
            if does == "cancel":
                return False
            words = words if does == "correct" else said

    def _correct(self, line: str, values: dict[str, Any]) -> None:
        assert not values.keys() & set(WANTED[line])
        used = {"amount", "number"} if line == "05" else set()  # a payment was made with it
        if values.keys() & used:
            return
        self.known |= values
        if "amount" in values:
            raise Back


async def check(seed: int, sandbox: MontySandbox) -> tuple[int, int]:
    """One talk; how often control went back, and how often it was paid."""
    rng = random.Random(seed)
    model = HostileModel(rng, UNDERSTOOD, fits=0.85)
    async with talking(await compiled(PROGRAM), model, sandbox, world=World(())) as talk:
        for _ in range(MAX_MESSAGES):
            await talk.say(rng.choice(PEOPLE))
            if talk.facts("ended") or talk.named("playbook.failed") or talk.named("playbook.returned"):
                break
        happened = done(talk)
        assert happened == Corrected(accepted(talk)).run()
        return len(talk.facts("back")), [name for name, _ in happened].count("Pay")


async def test_corrections_repeat_only_what_can_be_repeated(sandbox: MontySandbox) -> None:
    backs = payments = 0
    for seed in range(TALKS):
        try:
            back, paid = await check(seed, sandbox)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        assert paid <= 1
        backs, payments = backs + back, payments + paid
    assert backs > TALKS / 20, "hardly any talk went back"
    assert payments > TALKS / 5, "hardly any talk came to the payment"
