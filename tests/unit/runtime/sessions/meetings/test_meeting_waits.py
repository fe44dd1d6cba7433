"""Waits for a meeting: they take what is said in it, and leave the rest to the waits that it is for."""

import pytest

from tests.fakes.people.talk import Model, answered, talking
from tests.language.test_meeting_patterns import Reader
from tests.unit.runtime.execution.processor.walking import compiled
from tests.unit.runtime.sessions.meetings.test_meeting_life import guest, hosted, post, still
from tests.unit.runtime.sessions.programs import agent, python

FROM_OUTSIDE = """
# Host
## Main
### Triggers
- At the beginning
### Steps
- Talk()

## Talk
meeting: true
required_attendees: [Guest]
### Steps
- Spy.Whisper()
- Say(meeting, "To all.")
- Say(Guest, "To you alone.")
- Wait for the meeting

# Guest
## Talk
meeting: true
### Steps
{guest}

```python
@playbook
async def Hear() -> list:
    return [message["text"] for message in await WaitForMessage("meeting")]

@playbook
async def HearSpy() -> list:
    return [message["text"] for message in await WaitForMessage("Spy")]
```

# Spy
## Whisper
public: true
### Steps
- Say(Guest, "Psst.")
"""

PYTHON = """- $first = Hear()
- While "To you alone." is not in $first
  - $first = $first + Hear()
- $second = HearSpy()
- Say "{first} {second}" to the user"""


async def test_a_wait_for_the_meeting_leaves_what_somebody_outside_says() -> None:
    async with talking(await compiled(FROM_OUTSIDE.format(guest=PYTHON)), Model()) as talk:
        [said] = [text for text in await talk.say("go") if "Psst" in text]
    assert said.endswith('["Psst."]')
    assert "To all." in said
    assert "To you alone." in said


async def test_a_step_that_waits_for_the_meeting_hears_nobody_outside() -> None:
    steps = "- Wait for the meeting\n- Tell the user what was said\n- Wait for Spy\n- Tell the user what was said"
    model = Reader({"say: ": lambda prompt: prompt.heard})
    said = await answered(await compiled(FROM_OUTSIDE.format(guest=steps)), model, "go")
    first, second = [text for text in said if text != "To all."]
    assert "To all." in first
    assert "Psst." not in first
    assert "Psst." in second


LISTENS = """
async def Join():
    heard = []
    while "enough" not in heard:
        heard += [m["text"] for m in await WaitForMessage("meeting") if m.get("human")]
    await Say("user", f"in the meeting: {heard}")
    await Say("user", f"to me: {[m['text'] for m in await WaitForMessage('user')]}")
"""


HEARD_APART = ["in the meeting: ['me too', 'enough']", "to me: ['Guest: not for them']"]


@pytest.mark.parametrize("restart", [False, True])
async def test_what_a_person_says_after_leaving_waits_for_a_wait_for_people(restart: bool) -> None:
    talks = hosted(
        "return await heard('Meeting has ended')", guest("Guest", LISTENS), required_attendees=["user", "Guest"]
    )
    world = still()[0]
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go", private=False)
        await post(talk, "me too", name="Bob", private=False)
        await post(talk, "", name="Bob", private=False, kind="leave")
        assert await post(talk, "Guest: not for them", name="Bob", private=False) == []
        if not restart:
            assert (await post(talk, "enough", private=False))[:2] == HEARD_APART
            return
    async with talking(talks, Model(), world=world) as talk:
        assert (await post(talk, "enough", private=False))[:2] == HEARD_APART


async def test_a_person_who_is_in_no_meeting_still_reaches_an_agent_that_meets_others() -> None:
    """Nobody else would hear them: nobody was invited."""
    code = 'return await heard("a boat")'
    talks = hosted(code, agent("Guest", python("Join", meeting=True), code=LISTENS), required_attendees=["Guest"])
    assert "a boat" in await answered(talks, Model(), "a boat", after="go")


BEFORE = """
async def Whisper():
    await Say("Host", "from before")
"""


async def test_a_wait_for_the_meeting_leaves_what_was_said_before_it() -> None:
    spy = agent("Spy", python("Whisper", public=True), code=BEFORE)
    code = """
found = [m["text"] for m in await WaitForMessage("meeting")]
return found + [m["text"] for m in await WaitForMessage("Spy")]
"""
    main = 'await Spy.Whisper(); await Say("user", f"{await Talk()}")'
    talks = hosted(code, guest("Guest"), spy, main=main, required_attendees=["Guest"])
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == [
            "['Meeting has started. Host, please start the meeting.', 'from before']",
        ]


async def test_who_waits_for_the_end_of_others_meeting_hears_nothing_else() -> None:
    watcher = agent(
        "Watcher",
        python("Watch", public=True),
        code="""
async def Watch():
    until_its_end = [m["text"] for m in await WaitForMessage("meeting 100")]
    return until_its_end + [m["text"] for m in await WaitForMessage("Host")]
""",
    )
    code = """
watching = asyncio.create_task(Watcher.Watch())
await Sleep(1)
await Say("Watcher", "psst")
await EndMeeting()
return await watching
"""
    talks = hosted(f"import asyncio\n{code}", guest("Guest"), watcher, required_attendees=["Guest"])
    assert await answered(talks, Model(), "go") == ["['Meeting has ended', 'psst']"]


async def test_the_result_of_ones_own_task_is_heard_in_a_meeting() -> None:
    worker = agent("Worker", python("Work", public=True), code='async def Work():\n    return "done"\n')
    code = """
await Spawn("Worker", "Work")
return await heard("Task 1")
"""
    async with talking(hosted(code, guest("Guest"), worker, required_attendees=["Guest"]), Model()) as talk:
        assert "is completed" in (await talk.say("go"))[-1]
