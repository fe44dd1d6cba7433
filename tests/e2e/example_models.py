"""What a language model would answer to the examples in which agents and people meet: one set of rules an example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.models.answers import Answers, Prompt, Rules, answer_with
from tests.fakes.models.openai_server import Reply


def script(rules: Rules) -> Callable[[Mapping[str, Any]], Reply]:
    """A model as `OpenAIServer` wants it; a question that the rules do not know is refused, with its text."""
    answers = Answers(rules)

    def reply(request: Mapping[str, Any]) -> Reply:
        try:
            return Reply(answers.reply(Prompt.read(request["messages"])))
        except LookupError as error:
            return Reply(status=400, error={"message": f"no answer to this: {error}"})

    return reply


FLIGHT_BOOKING: Rules = {
    "say: .*that you will help them book": "I will help you book a flight.",
    "say: .*Ask the user for the destination": "Where to?",
    "understand: .*Ask the user for the destination": answer_with(destination="Paris"),
    "say: .*Ask the user for the dates": "To Paris. When?",
    "understand: .*Ask the user for the dates": answer_with(dates="3 to 7 May"),
    "say: .*that you will check": "I will check.",
    "say: .*tell you the price": "What is the price for Paris, 3 to 7 May?",
    "give: .*the price that Pricing named": '{"pricing": "180 euros"}',
    "say: .*Present the options": "Paris, 3 to 7 May: {pricing}.",
    "execute: .*You execute ProcessMessages as Pricing": "```python\n"
    'await Trigger("Pricing:ProvidePricing:T1:EVT")\n'
    'await ProvidePricing(request="Paris, 3 to 7 May")\n```',
    "give: .*Values for PriceOf": '{"request": "Paris, 3 to 7 May"}',
    "say: .*Tell FlightBooking the quote": "That is {quote}.",
}
"""Two agents coordinate."""


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _no(holds: bool) -> str:
    return _yes(not holds)


TRIP_PLANNING: Rules = {
    "say: .*that you will coordinate": "I will coordinate your trip.",
    "say: .*Ask the user for the destination": "Where and when?",
    "understand: .*destination": answer_with(destination="Lisbon"),
    "say: .*Introduce yourself": "I coordinate trips; we look for a flight and a hotel.",
    "say: .*Share with the meeting that the trip goes": "The trip goes to {destination}.",
    "choose: .*a flight or a hotel is missing": lambda prompt: _yes(
        not ("Flight:" in prompt.past and "Hotel:" in prompt.past)
    ),
    "say: .*Thank the other agents": "Thank you both!",
    "give: .*itinerary": '{"result": "TP 123 at 9:40 and the Hotel Mar, 420 euros in all"}',
    "say: .*Present the options": "Your trip: {options}",
    "choose: .*asked about": lambda prompt: _yes("The trip goes" in prompt.heard),
    "say: .*Share the flight": "Flight: TP 123 to Lisbon at 9:40, 150 euros.",
    "give: .*Values for RegionAgent.Supports": '{"place": "Lisbon"}',
    "say: .*Share hotel options": "Hotel: the Mar in Lisbon, 270 euros.",
}
"""Three agents plan a trip in a meeting, and one asks a fourth."""

BUDGET_REVIEW: Rules = {
    "say: .*Ask the user what the campaign is about": "What is the campaign about?",
    "understand: .*what the campaign is about": answer_with(campaign="boats"),
    "say: .*Share the campaign": "Marketing, the campaign is about {campaign}; the budget is 11,000.",
    "choose: .*the costs may exceed": lambda prompt: _yes("12,000" in prompt.heard),
    "say: .*accounting should have a look": "Accounting should have a look.",
    "say: .*input of Accounting": "Accounting, what is left?",
    "choose: .*Accounting has answered": lambda prompt: _yes("There are 10,000 left" in prompt.heard),
    "say: .*ask Supervisor": "Between us: marketing wants 12,000, and 10,000 are left. How much?",
    "give: .*what the supervisor says": '{"verdict": "9,000 euros, not more."}',
    "say: .*Share the verdict": "It is decided: {verdict}",
    "say: .*Tell the user the verdict": "The verdict: {verdict}",
    "choose: .*somebody asks you in private": lambda prompt: _yes("Between us" in prompt.heard),
    "say: .*Answer CampaignLead": "Spend 9,000, not more.",
    "choose: .*the campaign was shared": lambda prompt: _yes("the campaign is" in prompt.heard),
    "say: .*what the campaign will cost": "It will cost 12,000 euros.",
    "choose: .*asked for input": lambda prompt: _yes("Accounting, what" in prompt.heard),
    "say: .*what is left of the budget": "There are 10,000 left.",
}
"""Somebody is added to a meeting, and somebody asked in private."""

RELEASE_VOTE: Rules = {
    "say: .*you will ask Alice and Bob": "I will ask Alice and Bob.",
    "say: .*what is in the release": "In the release: forty fixes.",
    "say: .*the outcome of the": "Alice: {votes['Alice']}, Bob: {votes['Bob']}",
    "give: .*the decision": '{"result": "We ship."}',
    "say: .*Tell the user the decision": "{decision}",
}
"""Two people and an agent decide."""
