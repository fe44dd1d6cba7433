"""The model of the stories as a script: what it answers follows from the prompt alone, how badly from the seed."""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.chaos.stories import (
    ADDS,
    ANOTHER,
    CITY,
    GREETING,
    ORDERS,
    THANKS,
    WELCOME,
    WHICH,
    forecast_sentence,
    no_such_order,
)
from tests.fakes.models.answers import Answers, Prompt, Rules, answer_with
from tests.fakes.models.openai_server import Reply

_BOMB = "bomb = [0] * 10**9"
_CHUNK_DELAY_S = 0.03
_REPEATS = 0.3
_BEGUN = re.compile(r"<begun>(.*)</begun>", re.DOTALL)


WAYS = ("stalls", "breaks off", "says nothing", "fails", "is busy")
"""How it misbehaves."""


class ScriptedModel:
    """Answers requests; `misbehaves` is the chance that a prompt, asked for the first time, is answered badly."""

    def __init__(self, seed: int, *, misbehaves: float) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self._seed = seed
        self._misbehaves = misbehaves
        self._asked: Counter[str] = Counter()

    def answer(self, request: Mapping[str, Any]) -> Reply:
        """The reply to a request of the gateway's."""
        messages = request["messages"]
        try:
            text = _ANSWERS.reply(Prompt.read(messages))
        except (LookupError, ValueError) as error:
            self.failures.append(f"{error!r}: {json.dumps(messages[1:])}")
            return Reply(status=400, error={"message": f"the script does not know this prompt: {error}"})
        self.counts["replies"] += 1
        return self._as_is_its_way(messages, self._rest(messages, text))

    def _rest(self, messages: Sequence[Mapping[str, Any]], text: str) -> str:
        """What is missing of a message that broke off, where it is asked for; now and then all of it once more."""
        begun = _BEGUN.search(str(messages[-1]["content"]))
        if begun is None or not text.startswith(begun[1]):
            return text
        self.counts["goes on"] += 1
        chance = random.Random(f"{self._seed} {begun[1]}")
        return text if chance.random() < _REPEATS else text[len(begun[1]) :]

    def _as_is_its_way(self, messages: Sequence[Mapping[str, Any]], text: str) -> Reply:
        """Well, or for the first asking of a turn slowly, broken off, not at all, or refused for the moment."""
        turn = _turn_digest(messages)
        self._asked[turn] += 1
        chance = random.Random(f"{self._seed} {turn}")
        if self._asked[turn] > 1 or chance.random() >= self._misbehaves:
            return Reply(text, chunk_delay_s=_CHUNK_DELAY_S)
        kind = chance.choice(WAYS)
        self.counts[kind] += 1
        match kind:
            case "stalls":
                return Reply(text, chunk_chars=40, chunk_delay_s=0.25)
            case "breaks off":
                return Reply(text, drop_after_chars=chance.randrange(20, max(21, len(text))))
            case "says nothing":
                return Reply("")
            case "fails":
                return Reply(status=chance.choice((500, 502, 503)))
        return Reply(status=429, retry_after_s=0.5)


def _turn_digest(messages: Sequence[Mapping[str, Any]]) -> str:
    """The same for every asking of one turn, also when it goes on with a reply that broke off."""
    now = str(messages[-1]["content"]).partition("\n\nYou execute ")[0]
    before = [str(message["content"]) for message in messages[:-1]]
    return hashlib.sha256("\0".join([*before, now]).encode()).hexdigest()


def _heard(prompt: Prompt) -> str:
    """What the person wrote last."""
    found = re.match(r"(?:Message from [^:]*: )?(.*)", prompt.heard)
    assert found is not None
    return found[1].strip()


def _order(prompt: Prompt) -> str:
    return str(prompt.known("order_id"))


def _forecast(prompt: Prompt) -> str:
    return json.dumps({"result": forecast_sentence(str(prompt.known("city")))})


def _add(prompt: Prompt) -> str:
    """Statements: the program of the adder has no steps."""
    if prompt.heard.startswith("Execute from the beginning"):
        statements = ['await Var("total", 0)', f'await Say("user", "{ADDS}")', 'await Yld("user")']
    else:
        number, _, more = _heard(prompt).partition(" ")
        statements = [
            *([_BOMB] if more else []),
            f'await Var("total", total + {int(number)})',
            'await Say("user", f"That makes {total} in all, if I have added it up as one should.")',
            'await Yld("user")',
        ]
    broken_off = re.search(r"is `# resume: (\d+)`", prompt.asked)
    if broken_off:
        statements = [f"# resume: {broken_off[1]}", *statements[int(broken_off[1]) :]]
    return "```python\n" + "\n".join(statements) + "\n```"


_RULES: Rules = {
    "say: .*Ask the user for their name": GREETING,
    "say: .*Greet the user by name": lambda prompt: f"Nice to meet you, {_heard(prompt)}!",
    "say: .*Welcome the user": WELCOME,
    "say: .*Ask the user for their order id": WHICH,
    "understand: .*another order": lambda prompt: answer_with(wants_more=_heard(prompt).startswith("yes")),
    "understand: .*order id": lambda prompt: answer_with(order_id=_heard(prompt)),
    "say: .*no order has this number": lambda prompt: no_such_order(_order(prompt)),
    "say: .*the status of order": lambda prompt: ORDERS[_order(prompt)],
    "say: .*another order": ANOTHER,
    "say: .*Thank the user": THANKS,
    "say: .*in which city": CITY,
    "understand: .*city": lambda prompt: answer_with(city=_heard(prompt)),
    "give: .*(?:no forecast|the forecast) for city": _forecast,
    "say: .*the forecast": "{forecast} Wear what suits.",
    "execute: .*You execute Main as Adder": _add,
}
_ANSWERS = Answers(_RULES)
