"""The model of the examples as a script: what it answers follows from the prompt alone, how badly from the seed."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.chaos.stories import (
    ANOTHER,
    ASKS_NAME,
    CITY,
    GREETING,
    ORDERS,
    THANKS,
    WELCOME,
    WHICH,
    forecast_sentence,
    no_such_order,
)
from tests.fakes.openai_server import Reply

_BOMB = "bomb = [0] * 10**9"
_CHUNK_DELAY_S = 0.004

_BEGIN_ORDERS = (
    'await Step("Main:01:QUE")\n# trig? no',
    f'await Say("user", "{WELCOME}")',
    'await Step("Main:02:EXE")\n# trig? no',
    'await Var("wants_more", True)\n# trig? no',
    'await Step("Main:03:CND")\n# trig? no',
    'await Step("Main:03.01:QUE")\n# trig? no',
    f'await Say("user", "{WHICH}")',
    'await Yld("user")',
)


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
            statements = _statements(messages)
        except (LookupError, ValueError) as error:
            self.failures.append(f"{error!r}: {json.dumps(messages[1:])}")
            return Reply(status=400, error={"message": f"the script does not know this prompt: {error}"})
        self.counts["replies"] += 1
        return self._as_is_its_way(messages, _block(statements, str(messages[-1]["content"])))

    def _as_is_its_way(self, messages: Sequence[Mapping[str, Any]], text: str) -> Reply:
        """Well, or for the first asking of a turn slowly, broken off, or refused for the moment."""
        turn = _turn_digest(messages)
        self._asked[turn] += 1
        chance = random.Random(f"{self._seed} {turn}")
        if self._asked[turn] > 1 or chance.random() >= self._misbehaves:
            return Reply(text, chunk_delay_s=_CHUNK_DELAY_S)
        kind = chance.choice(("stalls", "breaks off", "fails", "is busy"))
        self.counts[kind] += 1
        match kind:
            case "stalls":
                return Reply(text, chunk_chars=40, chunk_delay_s=0.25)
            case "breaks off":
                return Reply(text, drop_after_chars=chance.randrange(20, max(21, len(text))))
            case "fails":
                return Reply(status=chance.choice((500, 502, 503)))
        return Reply(status=429, retry_after_s=0.5)


def _turn_digest(messages: Sequence[Mapping[str, Any]]) -> str:
    """The same for every asking of one turn, also when it goes on with a reply that broke off."""
    now = str(messages[-1]["content"]).partition("\n\nYou execute ")[0]
    before = [str(message["content"]) for message in messages[:-1]]
    return hashlib.sha256("\0".join([*before, now]).encode()).hexdigest()


def _block(statements: Sequence[str], asked: str) -> str:
    head = "# recap: we go on\n# plan: the next step"
    broken_off = re.search(r"is `# resume: (\d+)`", asked)
    if broken_off:
        head = f"# resume: {broken_off[1]}"
        statements = statements[int(broken_off[1]) :]
    return "```python\n" + "\n".join([head, *statements]) + "\n```"


def _statements(messages: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The whole turn. Raises LookupError for a prompt that no example leads to."""
    now = str(messages[-1]["content"])
    turn = sum(1 for message in messages if message["role"] == "assistant")
    found = re.search(r"You execute (\w+) as (\w+)", now)
    if found is None:
        raise LookupError("nobody executes")
    heard = _heard(now)
    match found.groups():
        case _, "Greeter":
            return _greet(turn, heard)
        case _, "OrderHelper":
            return _look_up(turn, heard, now)
        case _, "Concierge":
            return _host(turn, heard)
        case _, "WeatherDesk":
            return _forecast(turn, now)
    raise LookupError(str(found.groups()))


def _heard(now: str) -> str:
    """What the person wrote that this turn is about; empty where it is about nothing of the sort."""
    found = re.match(r"Message from [^:]*: (.*)", now)
    return found[1].strip() if found else ""


def _greet(turn: int, heard: str) -> Sequence[str]:
    if turn == 0:
        return (
            'await Step("Main:01:QUE")\n# trig? no',
            f'await Say("user", "{GREETING}")',
            f'await Say("user", "{ASKS_NAME}")',
            'await Yld("user")',
        )
    return (
        f'await Var("name", "{heard}")\n# trig? no',
        'await Step("Main:02:QUE")\n# trig? no',
        'await Say("user", f"Nice to meet you, {name}!")',
        'await Step("Main:03:YLD")',
        'await Var("__", "Greeted the person.")',
        'await Yld("exit")',
    )


def _look_up(turn: int, heard: str, now: str) -> Sequence[str]:
    if turn == 0:
        return _BEGIN_ORDERS
    number = heard.split()[0] if heard else ""
    if number.isdecimal():
        bomb = (_BOMB,) if "bomb" in heard else ()
        return (
            f'await Var("order_id", "{number}")\n# trig? no',
            *bomb,
            'await Step("Main:03.02:QUE")\n# trig? no',
            f'await Var("order", await LookUpOrder(order_id="{number}"))\n# trig? no',
            'await Yld("call")',
        )
    if number == "yes":
        return (
            'await Var("wants_more", True)\n# trig? no',
            'await Step("Main:03.06:JMP")\n# trig? no',
            'await Step("Main:03:CND")\n# trig? no',
            'await Step("Main:03.01:QUE")\n# trig? no',
            f'await Say("user", "{WHICH}")',
            'await Yld("user")',
        )
    if number == "no":
        return (
            'await Var("wants_more", False)\n# trig? no',
            'await Step("Main:03.06:JMP")\n# trig? no',
            'await Step("Main:03:CND")\n# trig? no',
            'await Step("Main:04:QUE")\n# trig? no',
            f'await Say("user", "{THANKS}")',
            'await Step("Main:05:YLD")',
            'await Var("__", "Looked up orders.")',
            'await Yld("exit")',
        )
    found = re.search(r'\$order_id = "(\d+)"', now)
    if found is None:
        raise LookupError("no order is asked for")
    answer = ORDERS.get(found[1])
    steps = ("03.03:CND", "03.04:CND", "03.04.01:QUE") if answer else ("03.03:CND", "03.03.01:QUE")
    return (
        *(f'await Step("Main:{step}")\n# trig? no' for step in steps),
        f'await Say("user", "{answer or no_such_order(found[1])}")',
        'await Step("Main:03.05:QUE")\n# trig? no',
        f'await Say("user", "{ANOTHER}")',
        'await Yld("user")',
    )


def _host(turn: int, heard: str) -> Sequence[str]:
    if turn == 0:
        return ('await Step("Main:01:QUE")\n# trig? no', f'await Say("user", "{CITY}")', 'await Yld("user")')
    if heard:
        return (
            f'await Var("city", "{heard}")\n# trig? no',
            'await Step("Main:02:QUE")\n# trig? no',
            f'await Var("forecast", await WeatherDesk.GetForecast(city="{heard}"))\n# trig? no',
            'await Yld("call")',
        )
    return (
        'await Step("Main:03:QUE")\n# trig? no',
        'await Say("user", f"{forecast} Wear what suits.")',
        'await Step("Main:04:YLD")',
        'await Var("__", "Told the forecast.")',
        'await Yld("exit")',
    )


def _forecast(turn: int, now: str) -> Sequence[str]:
    found = re.search(r'Arguments: \{"city": "(\w+)"\}|\$city = "(\w+)"', now)
    if found is None:
        raise LookupError("no city is asked for")
    city = found[1] or found[2]
    if turn == 0:
        return (
            'await Step("GetForecast:01:QUE")\n# trig? no',
            f'await Var("raw", await ReadForecast(city="{city}"))\n# trig? no',
            'await Yld("call")',
        )
    sentence = forecast_sentence(city)
    if sentence.startswith("There is no"):
        steps = ('await Step("GetForecast:02:CND")\n# trig? no', 'await Step("GetForecast:02.01:RET")')
    else:
        steps = ('await Step("GetForecast:02:CND")\n# trig? no', 'await Step("GetForecast:03:RET")')
    return (*steps, 'await Var("__", "Gave the forecast.")', f'await Return("{sentence}")')
