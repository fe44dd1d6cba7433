"""What was said in a playbook is known behind it: to its caller, and to what the agent does next."""

from __future__ import annotations

import pytest

from runtime.sandbox.monty import MontySandbox
from runtime.tape.state.frames import MAX_SPEAKER_CHARS, MAX_SUMMARY_CHARS, MAX_UTTERANCE_CHARS, MAX_UTTERANCES
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.runtime.execution.processor.walking import compiled, main, walking

pytestmark = pytest.mark.anyio

INTERVIEW = """
## Interview
### Steps
- Ask the user for a $colour:str
- Return $colour
"""

ANSWER = '{"does": "answer", "colour": "blue"}'

KNOWN = "(In Interview: Host: “Which colour?” Ada: “Like the sea, please”)"


async def test_a_caller_knows_what_was_said_in_the_playbook_that_it_called(sandbox: MontySandbox) -> None:
    program = main("- Interview()", "- Say goodbye to the user", "- End program", more=INTERVIEW)
    async with walking(program, "Which colour?", ANSWER, "Bye, friend of the sea!", sandbox=sandbox) as walk:
        assert await walk.say("hi") == ["Which colour?"]
        assert await walk.say("Like the sea, please") == ["Bye, friend of the sea!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert KNOWN in told
        assert '(Interview() gave "blue")' in told
        assert len(walk.model.asked) == 3


async def test_a_playbook_in_which_nothing_is_said_adds_nothing(sandbox: MontySandbox) -> None:
    quiet = "## Count\n### Steps\n- Set $n to 3\n- Return $n\n"
    program = main("- Count()", "- Say goodbye to the user", "- End program", more=quiet)
    async with walking(program, "Bye!", sandbox=sandbox) as walk:
        assert await walk.say("hi") == ["Bye!"]
        [returned] = [fact for fact in walk.talk.facts("ret") if isinstance(fact, dict) and ":" in fact["f"]]
        assert set(returned) == {"f", "val", "keep"}
        assert not [message for message in walk.model.asked[0] if "(In Count" in message.content]


async def test_what_was_said_comes_through_a_playbook_in_python(sandbox: MontySandbox) -> None:
    code = "@playbook\nasync def Outer() -> str:\n    return await Interview()\n"
    program = main("- Outer()", "- Say goodbye to the user", "- End program", code=code, more=INTERVIEW)
    async with walking(program, "Which colour?", ANSWER, "Bye!", sandbox=sandbox) as walk:
        await walk.say("hi")
        await walk.say("Like the sea, please")
        assert KNOWN.replace("Interview", "Outer") in walk.model.asked[-1][-2].content


async def test_what_a_triggered_playbook_said_is_known_to_the_one_that_it_interrupted(sandbox: MontySandbox) -> None:
    warn = '## Warn\n### Triggers\n- When $n > 5\n### Steps\n- Say "That is a lot!"\n'
    program = main("- Set $n to 9", "- Say goodbye to the user", "- End program", more=warn)
    async with walking(program, "Bye!", sandbox=sandbox) as walk:
        assert await walk.say("hi") == ["That is a lot!", "Bye!"]
        assert "(In Warn: Host: “That is a lot!”)" in walk.model.asked[0][-2].content


async def test_what_another_agent_said_stays_with_it(sandbox: MontySandbox) -> None:
    other = "\n# Desk\n## Interview\npublic: true\n### Steps\n- Ask the user for a $colour:str\n- Return $colour\n"
    program = main("- $c = Desk.Interview()", "- Say goodbye to the user", "- End program", more=other)
    async with walking(program, "Which colour?", ANSWER, "Bye!", sandbox=sandbox) as walk:
        await walk.say("hi")
        assert await walk.say("Like the sea, please") == ["Bye!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert 'gave "blue")' in told
        assert "Like the sea" not in told


async def test_of_a_long_talk_the_last_words_are_told_and_that_there_was_more(sandbox: MontySandbox) -> None:
    asking = "## Quiz\n### Steps\n" + "".join(f"- Ask the user for $v{n}:int\n" for n in range(7))
    program = main("- Quiz()", "- Say goodbye to the user", "- End program", more=asking)
    replies = [f"{n} " + "long words " * 50 for n in range(7)]
    async with walking(program, *replies, "Bye!", sandbox=sandbox) as walk:
        for text in ("hi", *map(str, range(7))):
            await walk.say(text)
        [told] = [m.content for m in walk.model.asked[-1] if "(In Quiz: …" in m.content]
        note = next(line for line in told.splitlines() if line.startswith("(In Quiz"))
        assert len(note) <= MAX_UTTERANCES * (MAX_UTTERANCE_CHARS + MAX_SPEAKER_CHARS + 5) + 20
        assert len(note) <= MAX_SUMMARY_CHARS + 20
        assert "“6 long words" in note
        assert "“2 long words" not in note


async def test_an_old_summary_is_not_taken_for_that_of_the_next_call(sandbox: MontySandbox) -> None:
    more = "## Help\nexecution_mode: react\nHelps.\n\n## Count\n### Steps\n- Set $n to 3\n- Return $n\n"
    program = main("- Help()", "- Count()", "- Say goodbye to the user", "- End program", more=more)
    wrote = '```python\nawait Var("__", "helped a lot")\nawait Return(1)\n```'
    async with walking(program, wrote, "Bye!", sandbox=sandbox) as walk:
        assert await walk.say("hi") == ["Bye!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert told.count("helped a lot") == 1
        assert "(In Help: helped a lot)" in told


async def test_what_was_said_in_a_call_survives_a_restart(sandbox: MontySandbox) -> None:
    program = await compiled(main("- Interview()", "- Ask the user for a $size:int", "- End program", more=INTERVIEW))
    world = World(())
    before = Model(Reply("Which colour?"), Reply(ANSWER), Reply("Which size?"))
    async with talking(program, before, sandbox, world=world) as talk:
        await talk.say("hi")
        assert await talk.say("Like the sea, please") == ["Which size?"]
    after = Model(Reply('{"does": "answer", "size": null}'), Reply("Again: which size?"))
    async with talking(program, after, sandbox, world=world) as talk:
        assert await talk.say("no idea") == ["Again: which size?"]
    assert [message for message in after.asked[0] if KNOWN in message.content]


async def test_what_was_said_in_a_playbook_that_has_ended_is_known_to_the_next_one(sandbox: MontySandbox) -> None:
    program = main('- Say "The tea costs 7."')
    async with walking(program, "As I said: 7.", sandbox=sandbox) as walk:
        assert await walk.say("Tea, please") == ["The tea costs 7."]
        assert await walk.say("How much?") == ["As I said: 7."]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert "(Said before: user: “Tea, please” Host: “The tea costs 7.”)" in told
