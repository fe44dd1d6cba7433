"""Agents that meet."""

from typing import Any

from msgspec.structs import replace

from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.llm.client import CompletionRequest
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python, triggers

HOST = """
async def Main():
    try:
        await Say("user", f"we chose {await Talk()}")
    except Exception as error:
        await Say("user", f"{type(error).__name__}: {error}")
    await EndProgram()

async def Talk():
    await Say("meeting", "Guest, what do you suggest?")
    for message in await WaitForMessage("meeting"):
        return message["text"]
"""

GUEST = """
async def Join():
    heard = []
    while True:
        for message in await WaitForMessage("meeting"):
            heard.append(message["text"])
            await Var("heard", heard)
            if message["text"] == "Meeting has ended":
                return
            if "suggest" in message["text"]:
                await Say("meeting", "a boat")
"""


def meets(name: str, *required: str, trigger: str | None = None) -> PlaybookSpec:
    """A meeting in natural language."""
    metadata = {"meeting": True, "required_attendees": list(required)}
    return replace(llm(name), metadata=metadata, triggers=triggers(trigger) if trigger else ())


class Script(Model):
    """Answers by the playbook that is executed and by a word that it hears, the first that fits."""

    def __init__(self, *reactions: tuple[str, str, tuple[str, ...]]) -> None:
        super().__init__()
        self._reactions = reactions

    def stream(self, request: CompletionRequest, /) -> Any:
        asked = request.messages[-1].content
        heard = asked.partition("You execute")[0]
        self._replies = [
            next(block(*lines) for name, word, lines in self._reactions if _executes(asked, name) and word in heard)
        ]
        return super().stream(request)

    def heard(self, playbook: str) -> list[str]:
        """What the model was told in the turns of a playbook."""
        return [asked[-1].content for asked in self.asked if _executes(asked[-1].content, playbook)]


def _executes(asked: str, playbook: str) -> bool:
    return f"You execute {playbook} " in asked


def meeting(*guests: AgentSpec, **attendees: Any) -> Program:
    host = agent(
        "Host",
        MAIN,
        python("Talk", meeting=True, **attendees),
        code=HOST,
    )
    return program(host, *guests)


async def test_a_required_attendee_joins_hears_what_happens_and_the_host_gets_its_value() -> None:
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    async with talking(meeting(guest, required_attendees=["Guest"]), Model()) as talk:
        assert await talk.say("go") == ["Guest, what do you suggest?", "a boat", "we chose a boat"]
        assert talk.speakers == ["Host", "Guest", "Host"]
    taken = [fact.data["message"] for fact in talk.world.facts if fact.kind == "in"]
    assert [(m["type"], m["text"]) for m in taken if m["type"] == "meeting_notice"][:1] == [
        ("meeting_notice", "Meeting started")
    ]
    assert "Meeting has ended" in [message["text"] for message in taken]
    assert [fact.kind for fact in talk.world.facts if fact.kind.startswith("meeting")] == [
        "meeting",
        "meeting_active",
        "meeting_end",
    ]


async def test_who_calls_a_meeting_sees_as_its_value_who_did_not_come_and_why() -> None:
    guest = agent("Guest", python("Sleepy"), code="async def Sleepy():\n    pass\n")
    async with talking(meeting(guest, required_attendees=["Guest"]), Model()) as talk:
        assert await talk.say("go") == [
            "we chose Meeting 100 did not take place: Guest: REJECTED - cannot handle this type of meeting. "
            "Here are the meeting types I can handle: []"
        ]


async def test_a_guest_that_nobody_declared_is_an_error_of_the_host_and_no_meeting_is_left() -> None:
    async with talking(meeting(required_attendees=["Nobody"]), Model()) as talk:
        assert await talk.say("go") == [
            "UnknownTarget: nobody called 'Nobody' can be invited; known are user, Host, agent 1000, Ada"
        ]
    assert talk.facts("meeting") == []


async def test_a_guest_whose_playbook_needs_arguments_says_so() -> None:
    guest = agent("Guest", python("Join", "budget", meeting=True), code="async def Join(budget):\n    pass\n")
    async with talking(meeting(guest, required_attendees=["Guest"]), Model()) as talk:
        assert await talk.say("go") == [
            "we chose Meeting 100 did not take place: Guest: REJECTED - Join needs arguments, "
            "and an invitation has none"
        ]


async def test_stop_ends_a_meeting_for_its_host_and_its_guests() -> None:
    guest = agent("Guest", python("Join", meeting=True), code=GUEST.replace('"a boat"', '"hm"').replace("suggest", "x"))
    async with talking(meeting(guest, required_attendees=["Guest"]), Model(), after="go") as talk:
        assert await talk.say("", kind="stop") == ["⏹ Stopped. The next message starts the program over."]
        assert len(talk.facts("stop")) == 2
        assert await talk.say("again") == ["Guest, what do you suggest?"]
        assert [data["id"] for data in talk.facts("meeting")] == ["100", "101"]  # type: ignore[index]


async def test_a_guest_on_the_model_hears_its_invitation_and_takes_part() -> None:
    joins = llm("Join", "01:QUE Suggest something in the meeting; YLD for meeting", "02:RET")
    guest = agent("Guest", replace(joins, metadata={"meeting": True}))
    model = Model(
        block('await Step("Join:01:QUE")', 'await Yld("meeting")'),
        block('await Step("Join:01:QUE")', 'await Say("meeting", "a cart")', 'await Yld("meeting")'),
        block('await Step("Join:02:RET")', 'await Var("__", "done")', "await Return(None)"),
    )
    async with talking(meeting(guest, required_attendees=["Guest"]), model) as talk:
        assert await talk.say("go") == ["Guest, what do you suggest?", "a cart", "we chose a cart"]
    assert "You are invited to meeting 100: Talk" in model.asked[0][1].content
    assert "Guest, what do you suggest?" in model.told(1)


async def test_models_hold_a_meeting_invite_more_to_it_whisper_and_end_it() -> None:
    host = agent("Chief", llm("Main", begins=True), meets("BudgetReview", "Marketing"))
    marketing = agent("Marketing", meets("Costs"), meets("Review", trigger="EVT When in budget review meeting"))
    accounting = agent("Accounting", meets("Join"))
    model = Script(
        ("Main", "", ('r = await BudgetReview(topic="the budget", attendees=["Marketing"])',
                      'await Say("user", f"agreed on {r}")', 'await Yld("exit")')),
        ("BudgetReview", "please start", ('await Say("meeting", "What do we spend?")', 'await Yld("meeting")')),
        ("BudgetReview", "600", ('await Var("__", "over")', "await EndMeeting()", 'await Return("600")')),
        ("BudgetReview", "", ('await Yld("meeting")',)),
        ("Review", "What do we spend", ('await Say("meeting", "Let us ask accounting.")',
                                        'await InviteToMeeting(["Accounting"])', 'await Yld("meeting")')),
        ("Review", "Accounting (agent 1002) has joined", ('await Say("Accounting", "between us: how much?")',
                                                          'await Yld("meeting")')),
        ("Review", "has ended", ('await Var("__", "done")', "await Return(None)")),
        ("Review", "", ('await Yld("meeting")',)),
        ("Join", "between us", ('await Say("meeting", "It is 600.")', 'await Yld("meeting")')),
        ("Join", "has ended", ('await Var("__", "done")', "await Return(None)")),
        ("Join", "", ('await Yld("agent Marketing")',)),
    )  # fmt: skip
    async with talking(program(host, marketing, accounting), model) as talk:
        assert await talk.say("go") == [
            *("What do we spend?", "Let us ask accounting.", "It is 600.", "agreed on 600"),
        ]
    history = [told for told in model.heard("Join") if "What was said before you came" in told]
    assert "Chief: What do we spend?" in history[0]
    assert "Marketing: Let us ask accounting." in history[0]


async def test_an_agent_that_waits_for_a_meeting_it_is_not_in_wakes_up_when_that_ends() -> None:
    watch = """
async def Watch():
    for message in await WaitForMessage("meeting 100"):
        return message["text"]
"""
    source = """
import asyncio

async def Main():
    await Say("user", await Talk())

async def Talk():
    seen = asyncio.create_task(Watcher.Watch())
    await Say("Guest", "end it soon")
    return "seen: " + await seen
"""
    join = """
async def Join():
    await WaitForMessage("agent 1000")
    await Sleep(60)
    await EndMeeting()
"""
    talks = program(
        agent(
            "Host",
            python("Main", trigger="BGN When"),
            python("Talk", meeting=True, required_attendees=["Guest"]),
            code=source,
        ),
        agent("Guest", python("Join", meeting=True), code=join),
        agent("Watcher", python("Watch", public=True), code=watch),
    )
    assert await answered(talks, Model(), "go") == ["seen: Meeting has ended"]
