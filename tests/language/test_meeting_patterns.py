"""The programs of docs/programs/meeting-patterns.md: each is executed in a talk, and its meeting comes to its end."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.authoring.program import lint
from runtime.core.json_text import plain_data
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.llm.client import CompletionRequest
from tests.fakes.models.answers import Answers, Prompt, Rules, answer_with
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, still

_DOCUMENT = (Path(__file__).parents[2] / "docs" / "programs" / "meeting-patterns.md").read_text(encoding="utf-8")
_PATTERN = re.compile(r"^## ([^\n]+)\n(?:(?!````)[^\n]*\n)*?````markdown\n(.*?)^````$", re.DOTALL | re.MULTILINE)
PROGRAMS = dict(_PATTERN.findall(_DOCUMENT))


class Reader(Model):
    """Answers each prompt by rules."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._answers = Answers(rules)

    def stream(self, request: CompletionRequest, /) -> Any:
        prompt = Prompt.read([plain_data(message) for message in request.messages])
        self._replies = [Reply(self._answers.reply(prompt))]
        return super().stream(request)


@dataclass(frozen=True)
class Course:
    """How a pattern goes: what the model answers, what people say, and what comes of it.

    `says` are `Name: text`; `+600` lets so many seconds pass. `seen` is the whole chat, each text with who says it;
    `heard` is all that each agent is told while the meeting goes on; `returned` is what the caller of the meeting gets.
    """

    rules: Rules
    says: Sequence[str]
    seen: Sequence[str]
    heard: Mapping[str, Sequence[str]]
    returned: str


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _begins(host: str) -> str:
    return f"{host}: Meeting has started. {host}, please start the meeting."


ROUND = Course(
    {
        "say: .*Introduce yourself": "We plan the party: a day and a menu.",
        "choose: .*a day and a menu are agreed on": lambda prompt: _yes("I can do soup." in prompt.past),
        "say: .*what is missing": lambda prompt: "And what to eat?" if "is fine" in prompt.past else "Which day?",
        "say: .*Ask Caterer": lambda prompt: f"Caterer, is {prompt.heard.rpartition(': ')[2]} possible?",
        "choose: .*Facilitator asks you": lambda prompt: _yes("Caterer, is" in prompt.heard),
        "say: .*Answer the meeting": lambda prompt: "I can do soup." if "Soup" in prompt.heard else "Saturday is fine.",
        "give: .*the day and the menu": '{"result": "Saturday, with soup"}',
        "say: .*Tell the user the plan": "The plan: {plan}",
    },
    ["Ada: go", "Ada: Saturday", "Ada: Soup"],
    [
        "Parley: Meeting started",
        "Facilitator: We plan the party: a day and a menu.",
        "Facilitator: Which day?",
        "Facilitator: Caterer, is Saturday possible?",
        "Caterer: Saturday is fine.",
        "Facilitator: And what to eat?",
        "Facilitator: Caterer, is Soup possible?",
        "Caterer: I can do soup.",
        "Parley: Meeting has ended",
        "Facilitator: The plan: Saturday, with soup",
    ],
    {
        "Facilitator": [
            _begins("Facilitator"),
            "Ada: Saturday",
            "Caterer: Saturday is fine.",
            "Ada: Soup",
            "Caterer: I can do soup.",
        ],
        "Caterer": [
            "Facilitator: You are invited to meeting 100: The summer party",
            "Facilitator: Meeting started",
            "Facilitator: We plan the party: a day and a menu.",
            "Ada: Saturday",
            "Facilitator: Caterer, is Saturday possible?",
            "Ada: Soup",
            "Facilitator: Caterer, is Soup possible?",
            "Facilitator: Meeting has ended",
        ],
    },
    "Saturday, with soup",
)

_HOTELS: Rules = {
    "say: .*Ask the user for the destination": "Where to?",
    "understand: .*destination": lambda prompt: answer_with(destination=prompt.heard.split()[-1]),
    "say: .*Ask HotelAgent": "HotelAgent, a hotel in {destination}, please.",
    "choose: .*asks for a hotel": lambda prompt: _yes("a hotel in" in prompt.heard),
    "give: .*Values for RegionAgent.Supports": lambda prompt: _given(
        place=prompt.heard.rpartition("a hotel in ")[2].partition(",")[0]
    ),
    "say: .*the name of a hotel": "The Mar, 270 euros.",
    "give: .*the hotel that HotelAgent has named": lambda prompt: _given(result=prompt.heard.rpartition(": ")[2]),
    "say: .*Present the options": "HotelAgent says: {options}",
    "say: .*no hotels there": "I have no hotels there.",
}


def _given(**values: object) -> str:
    return json.dumps(values)


def _hotel_in(place: str, answer: str) -> Course:
    """The host asks for a place, and hears this."""
    return Course(
        _HOTELS,
        ["Ada: go", f"Ada: to {place}"],
        [
            "TravelCoordinator: Where to?",
            f"TravelCoordinator: HotelAgent, a hotel in {place}, please.",
            f"HotelAgent: {answer}",
            f"TravelCoordinator: HotelAgent says: {answer}",
        ],
        {
            "TravelCoordinator": [_begins("TravelCoordinator"), f"HotelAgent: {answer}"],
            "HotelAgent": [
                "TravelCoordinator: You are invited to meeting 100: TravelMeeting",
                "TravelCoordinator: Meeting started",
                f"TravelCoordinator: HotelAgent, a hotel in {place}, please.",
                "TravelCoordinator: Meeting has ended",
            ],
        },
        answer,
    )


_BUDGET: Rules = {
    "say: .*Ask Marketing": "Marketing, what does it cost?",
    "choose: .*asked for the costs": lambda prompt: _yes("what does it cost" in prompt.heard),
    "say: .*tell the meeting what they are": "It costs 12,000 euros.",
    "choose: .*may exceed": lambda prompt: _yes("12,000" in prompt.past),
    "say: .*Ask Accounting": "Accounting, what is left?",
    "choose: .*asked for the budget": lambda prompt: _yes("what is left" in prompt.heard),
    "say: .*what is left of it": "9,000 euros are left.",
    "give: .*the verdict": lambda prompt: _given(
        result="9,000, not more." if "9,000" in prompt.past else "It is within the budget."
    ),
    "say: .*Tell the user the verdict": "The verdict: {verdict}",
}

EXPERT = Course(
    _BUDGET,
    ["Ada: go"],
    [
        "CampaignLead: Marketing, what does it cost?",
        "Marketing: It costs 12,000 euros.",
        "CampaignLead: Accounting, what is left?",
        "Accounting: 9,000 euros are left.",
        "CampaignLead: The verdict: 9,000, not more.",
    ],
    {
        "CampaignLead": [
            _begins("CampaignLead"),
            "Marketing: It costs 12,000 euros.",
            "CampaignLead: Accounting (agent 1002) has joined the meeting",
            "Accounting: 9,000 euros are left.",
        ],
        "Marketing": [
            "CampaignLead: You are invited to meeting 100: A campaign for boats",
            "CampaignLead: Meeting started",
            "CampaignLead: Marketing, what does it cost?",
            "CampaignLead: CampaignLead invited Accounting. Waiting…",
            "CampaignLead: Accounting (agent 1002) has joined the meeting",
            "CampaignLead: Accounting, what is left?",
            "Accounting: 9,000 euros are left.",
            "CampaignLead: Meeting has ended",
        ],
        "Accounting": [
            "CampaignLead: You are invited to meeting 100: A campaign for boats",
            "CampaignLead: What was said before you came:\n"
            "CampaignLead: Marketing, what does it cost?\nMarketing: It costs 12,000 euros.",
            "CampaignLead: Accounting, what is left?",
            "CampaignLead: Meeting has ended",
        ],
    },
    "9,000, not more.",
)

NO_EXPERT = Course(
    {**_BUDGET, "say: .*tell the meeting what they are": "It costs 5,000 euros."},
    ["Ada: go"],
    [
        "CampaignLead: Marketing, what does it cost?",
        "Marketing: It costs 5,000 euros.",
        "CampaignLead: The verdict: It is within the budget.",
    ],
    {
        "CampaignLead": [_begins("CampaignLead"), "Marketing: It costs 5,000 euros."],
        "Marketing": [
            "CampaignLead: You are invited to meeting 100: A campaign for boats",
            "CampaignLead: Meeting started",
            "CampaignLead: Marketing, what does it cost?",
            "CampaignLead: Meeting has ended",
        ],
    },
    "It is within the budget.",
)

ASIDE = Course(
    {
        "say: .*Ask Customer": "Customer, what would you pay?",
        "choose: .*asked for an offer": lambda prompt: _yes("what would you pay" in prompt.heard),
        "say: .*what you would pay": "I would pay 800 euros.",
        "say: .*ask Supervisor": "They offer 800. What is the lowest price?",
        "choose: .*Seller asks you in private": lambda prompt: _yes("They offer" in prompt.heard),
        "say: .*the lowest price": "Not below 850.",
        "give: .*the price that Supervisor allows": '{"price": 850}',
        "say: .*that the price is": "The price is {price} euros.",
        "say: .*Tell the user the deal": "{deal}",
    },
    ["Ada: go"],
    [
        "Seller: Customer, what would you pay?",
        "Customer: I would pay 800 euros.",
        "Seller: The price is 850 euros.",
        "Seller: The boat is sold for 850 euros.",
    ],
    {
        "Seller": [_begins("Seller"), "Customer: I would pay 800 euros.", "Supervisor: Not below 850."],
        "Supervisor": [
            "Seller: You are invited to meeting 100: SalesMeeting",
            "Seller: Meeting started",
            "Seller: Customer, what would you pay?",
            "Customer: I would pay 800 euros.",
            "Seller: They offer 800. What is the lowest price?",
            "Seller: The price is 850 euros.",
            "Seller: Meeting has ended",
        ],
        "Customer": [
            "Seller: You are invited to meeting 100: SalesMeeting",
            "Seller: Meeting started",
            "Seller: Customer, what would you pay?",
            "Seller: The price is 850 euros.",
            "Seller: Meeting has ended",
        ],
    },
    "The boat is sold for 850 euros.",
)


def _haggling(answers: Sequence[str], returned: str) -> Course:
    """The buyer offers 700, 800 and 900, as far as it comes; the seller answers this."""
    offers = [f"My offer: {700 + 100 * number}." for number in range(len(answers))]
    return Course(
        {
            "say: .*Ask the user for the limit": "What would you pay?",
            "understand: .*limit": answer_with(limit=950),
            "say: .*your offer": lambda prompt: offers[prompt.past.count("My offer: ")],
            "choose: .*Buyer makes an offer": lambda prompt: _yes("My offer" in prompt.heard),
            "say: .*whether you agree": lambda prompt: answers[prompt.past.count("My offer: ") - 1],
            "choose: .*Seller agrees": lambda prompt: _yes("Agreed." in prompt.heard),
            "give: .*the price that was agreed on": '{"result": "Agreed at 800 euros."}',
            "say: .*Tell the user the deal": "{deal}",
        },
        ["Ada: go", "Ada: 950 at most", "+20"],
        [
            "Buyer: What would you pay?",
            *(
                said
                for pair in zip(offers, answers, strict=True)
                for said in (f"Buyer: {pair[0]}", f"Seller: {pair[1]}")
            ),
            f"Buyer: {returned}",
        ],
        {
            "Buyer": [_begins("Buyer"), *(f"Seller: {answer}" for answer in answers)],
            "Seller": [
                "Buyer: You are invited to meeting 100: PriceMeeting",
                "Buyer: Meeting started",
                *(f"Buyer: {offer}" for offer in offers),
                "Buyer: Meeting has ended",
            ],
        },
        returned,
    )


def _vote(said: Sequence[str], counts: Sequence[str], returned: str) -> Course:
    """Alice and Bob are asked, and say this within ten minutes; people see these counts."""
    return Course(
        {
            "say: .*Tell the meeting what is in": "In the release: forty fixes.",
            "say: .*Tell the user the decision": "{decision}",
        },
        ["Alice: go", "Bob: join", *said, "+600"],
        [
            "ReleaseManager: @Bob ReleaseManager invites you to meeting 100: Release 7. Do you want to join?",
            "Parley: Meeting started",
            "ReleaseManager: In the release: forty fixes.",
            "ReleaseManager: @Alice @Bob Ship it?",
            *counts,
            "Parley: Meeting has ended",
            f"ReleaseManager: {returned}",
        ],
        {"ReleaseManager": [_begins("ReleaseManager"), *said]},
        returned,
    )


COURSES = {
    "a person and an agent settle it point by point": ("Moderated round", ROUND),
    "a specialist asks somebody and knows": ("Specialists", _hotel_in("Lisbon", "The Mar, 270 euros.")),
    "a specialist asks somebody and cannot": ("Specialists", _hotel_in("Ulm", "I have no hotels there.")),
    "an expert is called in": ("Expert who joins later", EXPERT),
    "no expert is needed": ("Expert who joins later", NO_EXPERT),
    "one agent is asked in private": ("Private aside", ASIDE),
    "two agents agree": ("Negotiation in rounds", _haggling(["No.", "Agreed."], "Agreed at 800 euros.")),
    "two agents do not agree": (
        "Negotiation in rounds",
        _haggling(["No.", "No.", "No."], "There was no agreement in three rounds."),
    ),
    "both approve": (
        "Approval with a time limit",
        _vote(
            ["Alice: Yes", "Bob: Yes"],
            ["Parley: Alice has answered (1 of 2).", "Parley: Bob has answered (2 of 2)."],
            "The release goes out.",
        ),
    ),
    "one says nothing in time": (
        "Approval with a time limit",
        _vote(["Alice: Yes"], ["Parley: Alice has answered (1 of 2)."], "The release does not go out."),
    ),
}


async def compiled(title: str) -> CompileResult:
    return await compile_parsed(parse(read_text(PROGRAMS[title], "p.pb")), lowerer=RulesLowerer())


def test_the_document_has_six_patterns_of_about_thirty_lines_and_each_is_tried() -> None:
    assert len(PROGRAMS) == 6
    assert set(PROGRAMS) == {title for title, _ in COURSES.values()}
    assert all(len(re.findall(r"^.*\S", text, re.MULTILINE)) <= 34 for text in PROGRAMS.values())


@pytest.mark.parametrize("title", PROGRAMS)
async def test_a_pattern_compiles_without_warnings_and_no_step_stays_free(title: str) -> None:
    result = await compiled(title)
    assert (result.report.unclassified, result.warnings) == ((), ())
    assert list(lint(result.program, SIGNATURES, result.lines)) == []


def _seen(talk: Talk) -> list[str]:
    """The whole chat, each text with who says it, in the order in which the texts began."""
    begun = [spec.id for spec in talk.world.specs]
    shown = sorted(talk.world.chat, key=lambda one: begun.index(one.spec.id if one.spec else ""))
    return [f"{one.speaker}: {one.text}" for one in shown]


def _heard(talk: Talk) -> dict[str, list[str]]:
    """All that agents are told about a meeting and in it, each with who says it."""
    agents = {fact.data["id"]: fact.data["class"] for fact in talk.world.facts if fact.kind == "agent"}
    heard: dict[str, list[str]] = {}
    going_on = False
    for fact in talk.world.facts:
        going_on = (going_on or fact.kind == "meeting") and fact.kind != "meeting_end"
        if going_on and fact.kind in ("in", "hears"):
            message = fact.data["message"]
            agent = fact.data["agent"] if fact.kind == "in" else fact.data["f"].partition(".")[0]
            said = f"{message.get('name') or message['class']}: {message['text']}"
            heard.setdefault(agents[agent], []).append(said)
    return heard


@pytest.mark.parametrize("name", COURSES)
async def test_people_and_agents_see_this_the_meeting_ends_and_its_caller_gets_this(name: str) -> None:
    title, course = COURSES[name]
    world, clock = still()
    private = not any(said.startswith("Bob: ") for said in course.says)
    async with talking((await compiled(title)).program, Reader(course.rules), world=world) as talk:
        for speaker, _, text in (said.partition(": ") for said in course.says):
            if text:
                talk.post(text, name=speaker, private=private)
            await clock.advance(20 if text else float(speaker))
        assert _seen(talk) == course.seen
        assert _heard(talk) == course.heard
        assert [(data["id"], data["why"]) for data in facts(talk, "meeting_end")] == [("100", None)]
        assert course.returned in [data["val"] for data in facts(talk, "ret")]
        assert talk.facts("ended") == [{}]
