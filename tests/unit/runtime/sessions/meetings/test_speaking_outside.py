"""Words for a meeting by somebody who is not in it, or after its end: one error, whoever speaks and by whatever."""

import pytest

from tests.fakes.people.talk import talking
from tests.language.test_meeting_patterns import Reader
from tests.unit.runtime.execution.processor.walking import compiled
from tests.unit.runtime.sessions.meetings.test_meeting_life import guest, hosted

RULES = {
    "say: .*late": "Too late.",
    "say: .*Hello": "Hello.",
    "choose: .*they want to stop": "an answer",
    "choose: ": "no",
    "execute: ": 'await Say("meeting", "Too late.")\nawait Return()',
}

PROGRAM = """
# Host
## Main
### Triggers
- At the beginning
### Steps
- Talk()
- Say "Done." to the user

## Talk
meeting: true
required_attendees: [Guest]
### Steps
{host}

```python
@playbook
async def Late() -> None:
    await Say("meeting", "Too late.")
```

# Guest
## Talk
meeting: true
### Steps
{guest}

```python
@playbook
async def Late() -> None:
    await Say("meeting", "Too late.")

@playbook
async def Numbered() -> None:
    await Say("meeting 100", "Too late.")
```

# Spy
## Meddle
public: true
### Steps
{spy}

```python
@playbook
async def Late() -> None:
    await Say("meeting 100", "Too late.")
```
"""
ENDED = "meeting 100 has ended"
LEFT = "Guest (agent 1001) is not in meeting 100 any more"
STRANGER = "Spy (agent 1002) is not in meeting 100; it has to be invited first"
WAIT = "- Wait for the meeting"
WAYS = {"steps": '- Say(meeting, "Too late.")', "words": "- Tell the meeting that it is late", "Python": "- Late()"}


def written(host: str = WAIT, guest: str = WAIT, spy: str = WAIT) -> str:
    """A program of three agents by the steps of each."""
    return PROGRAM.format(host=host, guest=guest, spy=spy)


async def failures(text: str) -> tuple[list[str], list[str]]:
    """What people see, and the failures."""
    async with talking(await compiled(text), Reader(RULES)) as talk:
        said = await talk.say("go")
        return said, [str(event.data["error"]) for event in talk.named("playbook.failed")]


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
async def test_the_host_cannot_speak_in_the_meeting_that_it_has_ended(way: str) -> None:
    said, failed = await failures(written(host=f"- End meeting\n{way}"))
    assert "Too late." not in said
    assert [ENDED in one for one in failed] == [True]


@pytest.mark.parametrize("way", [*WAYS.values(), "- Numbered()"], ids=[*WAYS, "by its number"])
async def test_a_guest_cannot_speak_in_the_meeting_that_it_has_left(way: str) -> None:
    said, failed = await failures(written(guest=f"- Leave meeting\n{way}"))
    assert "Too late." not in said
    assert [LEFT in one for one in failed] == [True]


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
async def test_a_guest_that_has_read_of_the_end_cannot_speak(way: str) -> None:
    said, failed = await failures(written(host="- End meeting", guest=f"{WAIT}\n{WAIT}\n{way}"))
    assert "Too late." not in said
    assert [ENDED in one for one in failed] == [True]


@pytest.mark.parametrize("way", ['- Say("meeting 100", "Too late.")', "- Late()"], ids=["steps", "Python"])
async def test_who_was_never_invited_cannot_speak_in_a_meeting(way: str) -> None:
    said, failed = await failures(written(host="- Spy.Meddle()", spy=way))
    assert "Too late." not in said
    assert STRANGER in failed[0]


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
async def test_words_that_come_before_their_speaker_has_read_of_the_end_come_to_nothing(way: str) -> None:
    guest = f'- Say(meeting, "Hello.")\n- Sleep(5)\n{way}\n- Say "I am done." to the user'
    said, failed = await failures(written(host=f"{WAIT}\n- End meeting", guest=guest))
    assert [one for one in said if one in ("Too late.", "I am done.")] == ["I am done."]
    assert failed == []


@pytest.mark.parametrize("way", [WAYS["steps"], WAYS["words"]], ids=["steps", "words"])
async def test_a_loop_that_reads_of_the_end_among_other_messages_is_left_without_a_word(way: str) -> None:
    guest = f'- While the meeting is active\n  - Sleep(5)\n  {WAIT}\n  {way}\n- Say "I am done." to the user'
    said, failed = await failures(written(host='- Say(meeting, "Hello.")\n- End meeting', guest=guest))
    assert failed == []
    assert [one for one in said if one in ("Too late.", "I am done.")] == ["I am done."]


TALKS_ON = """
async def Join():
    while True:
        await Say("meeting", "and on")
        await Sleep(1)
"""


async def test_python_that_speaks_on_after_the_end_and_never_waits_for_anybody_ends() -> None:
    talks = hosted("await Sleep(5)", guest("Guest", TALKS_ON), required_attendees=["Guest"])
    async with talking(talks, Reader({})) as talk:
        said = await talk.say("go")
        (failure,) = [str(event.data["error"]) for event in talk.named("playbook.failed")]
    assert ENDED in failure
    assert said.count("and on") <= 6
