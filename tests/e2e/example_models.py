"""What a language model would answer to the examples in which agents and people meet: one function an example.

Each is given what a request says, and answers as the program's steps have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.openai_server import Reply


@dataclass(frozen=True)
class Asked:
    """One request: `agent` executes `playbook` and hears `heard` in its turn `turn`.

    `at` is the line of the step at which it stands, `past` all that it heard and said.
    """

    agent: str
    playbook: str
    turn: int
    heard: str
    at: str
    past: str

    @classmethod
    def read(cls, request: Mapping[str, Any]) -> Asked:
        """What a request of the gateway asks."""
        _, *messages = request["messages"]
        texts = [_text(message) for message in messages]
        found = re.search(r"You execute (\w+) as (\w+)", texts[-1])
        assert found is not None, texts[-1]
        turn = sum(message["role"] == "assistant" for message in messages)
        at = re.search(rf"Call stack: {found[1]}:([\d.]+)", texts[-1])
        return cls(found[2], found[1], turn, texts[-1][: found.start()], at[1] if at else "", "\n".join(texts))

    def step(self, line: str) -> str:
        """The statement that goes to a step; no trigger holds behind it."""
        return f'await Step("{self.playbook}:{line}")\n# trig? no'

    def steps(self, *lines: str) -> list[str]:
        """Several of them."""
        return [self.step(line) for line in lines]


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _code(*lines: str) -> Reply:
    return Reply("```python\n" + "\n".join(["# recap: it goes on", "# plan: the next steps", *lines]) + "\n```")


def _meeting(asked: Asked, line: str, call: str, into: str) -> list[str]:
    """The statements that hold a meeting and keep what comes of it."""
    return [asked.step(line), f"found = await {call}", f'await Var("{into}", found)', 'await Yld("call")']


def _telling(asked: Asked, first: str, text: str, last: str) -> Reply:
    """The user is told something, and the program ends."""
    return _code(asked.step(first), f'await Say("user", {text})', asked.step(last), 'await Yld("exit")')


def script(model: Callable[[Asked], Reply]) -> Callable[[Mapping[str, Any]], Reply]:
    """The model as `OpenAIServer` wants it."""
    return lambda request: model(Asked.read(request))


def flight_booking(asked: Asked) -> Reply:
    """Two agents coordinate."""
    if asked.agent == "Pricing":
        return _price(asked)
    match asked.turn:
        case 0:
            return _code(
                asked.step("01:QUE"),
                'await Say("user", "I will help you book a flight.")',
                asked.step("02:QUE"),
                'await Say("user", "Where to?")',
                'await Yld("user")',
            )
        case 1:
            return _code(
                'await Var("destination", "Paris")',
                asked.step("03:QUE"),
                'await Say("user", "To Paris. When?")',
                'await Yld("user")',
            )
        case 2:
            return _code(
                'await Var("dates", "3 to 7 May")',
                asked.step("04:QUE"),
                'await Say("user", "I will check.")',
                asked.step("05:QUE"),
                'await Say("Pricing", f"What is the price for {destination}, {dates}?")',
                'await Yld("agent Pricing")',
            )
        case _:
            return _code(
                asked.step("06:EXE"),
                'await Var("pricing", "180 euros")',
                asked.step("07:QUE"),
                'await Say("user", f"{destination}, {dates}: {pricing}.")',
                asked.step("08:YLD"),
                'await Yld("exit")',
            )


def _price(asked: Asked) -> Reply:
    if asked.playbook == "ProcessMessages":
        return _code(
            "# trig? Pricing:ProvidePricing:T1:EVT",
            'await Trigger("Pricing:ProvidePricing:T1:EVT")',
            'await ProvidePricing(request="Paris, 3 to 7 May")',
            'await Var("__", "Named a price.")',
            "await Return(None)",
        )
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"), 'await Var("quote", await PriceOf(request=request))\n# trig? no', 'await Yld("call")'
        )
    return _code(
        asked.step("02:QUE"),
        'await Say("FlightBooking", f"That is {quote}.")',
        'await Var("__", "The price was told.")',
        "await Return(None)",
    )


def trip_planning(asked: Asked) -> Reply:
    """Three agents plan a trip in a meeting, and one asks a fourth."""
    match asked.agent, asked.playbook:
        case "TravelCoordinator", "PlanTrip":
            return _plan_trip(asked)
        case "TravelCoordinator", _:
            return _hold_planning(asked)
        case "FlightAgent", _:
            return _know(asked, "01.02.01:QUE", "Flight: TP 123 to Lisbon at 9:40, 150 euros.")
        case _:
            return _find_hotel(asked)


def _plan_trip(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"),
            'await Say("user", "I will coordinate your trip.")',
            asked.step("02:QUE"),
            'await Say("user", "Where and when?")',
            'await Yld("user")',
        )
    if asked.turn == 1:
        return _code(
            'await Var("destination", "Lisbon")',
            *_meeting(asked, "03:QUE", "TravelPlanningMeeting(destination=destination)", "options"),
        )
    return _telling(asked, "04:QUE", 'f"Your trip: {options}"', "05:YLD")


def _hold_planning(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"),
            'await Say("meeting", "I coordinate trips; we look for a flight and a hotel.")',
            asked.step("02:QUE"),
            'await Say("meeting", f"The trip goes to {destination}.")',
            *asked.steps("03:CND", "03.01:YLD"),
            'await Yld("meeting")',
        )
    if "Flight:" in asked.past and "Hotel:" in asked.past:
        return _code(
            *asked.steps("03.02:JMP", "03:CND", "04:QUE"),
            'await Say("meeting", "Thank you both!")',
            asked.step("05:RET"),
            'await Var("__", "A flight and a hotel were found.")',
            'await Return("TP 123 at 9:40 and the Hotel Mar, 420 euros in all")',
        )
    return _code(*asked.steps("03.02:JMP", "03:CND", "03.01:YLD"), 'await Yld("meeting")')


def _over(asked: Asked) -> Reply:
    """A guest whose meeting has ended."""
    return _code(
        *asked.steps("01.02:CND", "01.03:JMP", "01:CND", "02:RET"),
        'await Var("__", "Took part in the meeting.")',
        "await Return(None)",
    )


def _wait_on(asked: Asked) -> Reply:
    """A guest to whom nothing was said that it knows an answer to."""
    again = () if asked.turn == 0 else ("01.02:CND", "01.03:JMP")
    return _code(*asked.steps(*again, "01:CND", "01.01:YLD"), 'await Yld("meeting")')


def _know(asked: Asked, line: str, answer: str, *, when: str = "goes to", to: str = "meeting") -> Reply:
    """A guest that says one thing when it is asked for."""
    if "Meeting has ended" in asked.heard:
        return _over(asked)
    if when not in asked.heard or asked.turn == 0:
        return _wait_on(asked)
    return _code(
        *asked.steps("01.02:CND", line),
        f'await Say("{to}", "{answer}")',
        *asked.steps("01.03:JMP", "01:CND", "01.01:YLD"),
        'await Yld("meeting")',
    )


def _find_hotel(asked: Asked) -> Reply:
    if "RegionAgent.Supports gave" in asked.heard:
        return _code(
            *asked.steps("01.02.02:CND", "01.02.02.01:QUE"),
            'await Say("meeting", "Hotel: the Mar in Lisbon, 270 euros.")',
            *asked.steps("01.03:JMP", "01:CND", "01.01:YLD"),
            'await Yld("meeting")',
        )
    if "goes to" in asked.heard and asked.turn:
        return _code(
            *asked.steps("01.02:CND", "01.02.01:QUE"),
            'await Var("supported", await RegionAgent.Supports(place="Lisbon"))',
            'await Yld("call")',
        )
    return _over(asked) if "Meeting has ended" in asked.heard else _wait_on(asked)


def budget_review(asked: Asked) -> Reply:
    """Somebody is added to a meeting, and somebody asked in private."""
    match asked.agent, asked.playbook:
        case "CampaignLead", "Review":
            return _review(asked)
        case "CampaignLead", _:
            return _hold_review(asked)
        case "Supervisor", _:
            return _know(asked, "01.02.01:QUE", "Spend 9,000, not more.", when="Between us", to="CampaignLead")
        case "Marketing", _:
            return _know(asked, "01.02.01:QUE", "It will cost 12,000 euros.", when="the campaign is")
        case _:
            return _know(asked, "01.02.01:QUE", "There are 10,000 left.", when="Accounting, what")


def _review(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(asked.step("01:QUE"), 'await Say("user", "What is the campaign about?")', 'await Yld("user")')
    if asked.turn == 1:
        return _code(
            'await Var("campaign", "boats")',
            *_meeting(asked, "02:QUE", "BudgetReviewMeeting(campaign=campaign)", "verdict"),
        )
    return _telling(asked, "03:QUE", 'f"The verdict: {verdict}"', "04:YLD")


def _hold_review(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"),
            'await Say("meeting", f"Marketing, the campaign is about {campaign}; the budget is 11,000.")',
            *asked.steps("02:CND", "02.01:YLD"),
            'await Yld("meeting")',
        )
    if "Spend 9,000" in asked.heard:
        return _code(
            asked.step("02.03.02:EXE"),
            'await Var("verdict", "9,000 euros, not more.")',
            asked.step("02.03.03:QUE"),
            'await Say("meeting", f"It is decided: {verdict}")',
            *asked.steps("02.04:JMP", "02:CND", "03:QUE"),
            "await EndMeeting()",
            asked.step("04:RET"),
            'await Var("__", "The budget was reviewed.")',
            "await Return(verdict)",
        )
    if "There are 10,000 left" in asked.heard:
        return _code(
            *asked.steps(*_behind_adding(asked), "02.03:CND", "02.03.01:QUE"),
            'await Say("Supervisor", "Between us: marketing wants 12,000, and 10,000 are left. How much?")',
            'await Yld("agent Supervisor")',
        )
    if "12,000" in asked.heard:
        return _code(
            *asked.steps("02.02:CND", "02.02.01:QUE"),
            'await Say("meeting", "Accounting should have a look.")',
            asked.step("02.02.02:QUE"),
            'await InviteToMeeting("meeting", ["Accounting"])',
            asked.step("02.02.03:QUE"),
            'await Say("meeting", "Accounting, what is left?")',
            'await Yld("meeting")',
        )
    on = (*_behind_adding(asked), "02.03:CND", "02.04:JMP", "02:CND", "02.01:YLD")
    return _code(*asked.steps(*on), 'await Yld("meeting")')


def _behind_adding(asked: Asked) -> tuple[str, ...]:
    """What comes before the question whether accounting has answered."""
    return () if asked.at.startswith("02.02") else ("02.02:CND",)


def release_vote(asked: Asked) -> Reply:
    """Two people and an agent decide."""
    return _decide(asked) if asked.playbook == "Decide" else _hold_vote(asked)


def _decide(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"),
            'await Say("user", "I will ask Alice and Bob.")',
            *_meeting(asked, "02:QUE", "ReleaseMeeting()", "decision"),
        )
    return _telling(asked, "03:QUE", "decision", "04:YLD")


def _hold_vote(asked: Asked) -> Reply:
    if asked.turn == 0:
        return _code(
            asked.step("01:QUE"),
            'await Say("meeting", "In the release: forty fixes.")',
            asked.step("02:YLD"),
            'await Yld("meeting")',
        )
    if "Ask gave" not in asked.heard:
        return _code(
            asked.step("03:QUE"),
            'await Var("votes", await Ask("Ship it?", ["Yes", "No"], of=["Alice", "Bob"]))',
            'await Yld("call")',
        )
    return _code(
        asked.step("04:QUE"),
        'await Say("meeting", ", ".join([name + ": " + vote for name, vote in votes.items()]))',
        asked.step("05:RET"),
        'await Var("__", "It was decided.")',
        'await Return("We ship.")',
    )
