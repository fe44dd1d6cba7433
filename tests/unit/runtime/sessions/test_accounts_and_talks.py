"""What is known behind a playbook, what agents say to each other, and how often the store is written to for it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import anyio
import anyio.lowlevel

from runtime.core.ids import SessionId
from runtime.execution.frames.loop import FrameLoop
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.rest import AT_WORK, FACTS_BETWEEN
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.journal import MAX_PENDING
from runtime.tape.snapshot import Snapshot, rules_version
from runtime.tape.state.frames import MAX_SPEAKER_CHARS, MAX_SUMMARY_CHARS, MAX_UTTERANCE_CHARS, MAX_UTTERANCES
from runtime.tape.tape import Fact, tape_owner
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, answered, talking
from tests.unit.runtime.execution.processor.walking import compiled, main, walking
from tests.unit.runtime.sessions.programs import MAIN, agent, program

INTERVIEW = """
## Interview
### Steps
- Ask the user for a $colour:str
- Return $colour
"""

ANSWER = '{"does": "answer", "colour": "blue"}'

KNOWN = "(In Interview: Host: “Which colour?” Ada: “Like the sea, please”)"


async def test_a_caller_knows_what_was_said_in_the_playbook_that_it_called() -> None:
    program = main("- Interview()", "- Say goodbye to the user", "- End program", more=INTERVIEW)
    async with walking(program, "Which colour?", ANSWER, "Bye, friend of the sea!") as walk:
        assert await walk.say("hi") == ["Which colour?"]
        assert await walk.say("Like the sea, please") == ["Bye, friend of the sea!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert KNOWN in told
        assert '(Interview() gave "blue")' in told
        assert len(walk.model.asked) == 3


async def test_a_playbook_in_which_nothing_is_said_adds_nothing() -> None:
    quiet = "## Count\n### Steps\n- Set $n to 3\n- Return $n\n"
    program = main("- Count()", "- Say goodbye to the user", "- End program", more=quiet)
    async with walking(program, "Bye!") as walk:
        assert await walk.say("hi") == ["Bye!"]
        [returned] = [fact for fact in walk.talk.facts("ret") if isinstance(fact, dict) and ":" in fact["f"]]
        assert set(returned) == {"f", "val", "keep"}
        assert not [message for message in walk.model.asked[0] if "(In Count" in message.content]


async def test_what_was_said_comes_through_a_playbook_in_python() -> None:
    code = "@playbook\nasync def Outer() -> str:\n    return await Interview()\n"
    program = main("- Outer()", "- Say goodbye to the user", "- End program", code=code, more=INTERVIEW)
    async with walking(program, "Which colour?", ANSWER, "Bye!", after=("hi", "Like the sea, please")) as walk:
        assert KNOWN.replace("Interview", "Outer") in walk.model.asked[-1][-2].content


async def test_what_a_triggered_playbook_said_is_known_to_the_one_that_it_interrupted() -> None:
    warn = '## Warn\n### Triggers\n- When $n > 5\n### Steps\n- Say "That is a lot!"\n'
    program = main("- Set $n to 9", "- Say goodbye to the user", "- End program", more=warn)
    async with walking(program, "Bye!") as walk:
        assert await walk.say("hi") == ["That is a lot!", "Bye!"]
        assert "(In Warn: Host: “That is a lot!”)" in walk.model.asked[0][-2].content


async def test_what_another_agent_said_stays_with_it() -> None:
    other = "\n# Desk\n## Interview\npublic: true\n### Steps\n- Ask the user for a $colour:str\n- Return $colour\n"
    program = main("- $c = Desk.Interview()", "- Say goodbye to the user", "- End program", more=other)
    async with walking(program, "Which colour?", ANSWER, "Bye!", after="hi") as walk:
        assert await walk.say("Like the sea, please") == ["Bye!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert 'gave "blue")' in told
        assert "Like the sea" not in told


async def test_of_a_long_talk_the_last_words_are_told_and_that_there_was_more() -> None:
    asking = "## Quiz\n### Steps\n" + "".join(f"- Ask the user for $v{n}:int\n" for n in range(7))
    program = main("- Quiz()", "- Say goodbye to the user", "- End program", more=asking)
    replies = [f"{n} " + "long words " * 50 for n in range(7)]
    async with walking(program, *replies, "Bye!") as walk:
        for text in ("hi", *map(str, range(7))):
            await walk.say(text)
        [told] = [m.content for m in walk.model.asked[-1] if "(In Quiz: …" in m.content]
        note = next(line for line in told.splitlines() if line.startswith("(In Quiz"))
        assert len(note) <= MAX_UTTERANCES * (MAX_UTTERANCE_CHARS + MAX_SPEAKER_CHARS + 5) + 20
        assert len(note) <= MAX_SUMMARY_CHARS + 20
        assert "“6 long words" in note
        assert "“2 long words" not in note


async def test_an_old_summary_is_not_taken_for_that_of_the_next_call() -> None:
    more = "## Help\nexecution_mode: react\nHelps.\n\n## Count\n### Steps\n- Set $n to 3\n- Return $n\n"
    program = main("- Help()", "- Count()", "- Say goodbye to the user", "- End program", more=more)
    wrote = '```python\nawait Var("__", "helped a lot")\nawait Return(1)\n```'
    async with walking(program, wrote, "Bye!") as walk:
        assert await walk.say("hi") == ["Bye!"]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert told.count("helped a lot") == 1
        assert "(In Help: helped a lot)" in told


async def test_what_was_said_in_a_call_survives_a_restart() -> None:
    program = await compiled(main("- Interview()", "- Ask the user for a $size:int", "- End program", more=INTERVIEW))
    world = World(())
    before = Model(Reply("Which colour?"), Reply(ANSWER), Reply("Which size?"))
    async with talking(program, before, world=world, after="hi") as talk:
        assert await talk.say("Like the sea, please") == ["Which size?"]
    after = Model(Reply('{"does": "answer", "size": null}'), Reply("Again: which size?"))
    async with talking(program, after, world=world) as talk:
        assert await talk.say("no idea") == ["Again: which size?"]
    assert [message for message in after.asked[0] if KNOWN in message.content]


async def test_what_was_said_in_a_playbook_that_has_ended_is_known_to_the_next_one() -> None:
    program = main('- Say "The tea costs 7."')
    async with walking(program, "As I said: 7.") as walk:
        assert await walk.say("Tea, please") == ["The tea costs 7."]
        assert await walk.say("How much?") == ["As I said: 7."]
        told = "\n".join(message.content for message in walk.model.asked[-1])
        assert "(Said before: user: “Tea, please” Host: “The tea costs 7.”)" in told


FOR_EVER = 10**6


class CountingLoop(FrameLoop):
    """Counts the tasks that are begun."""

    begun = 0

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        self.begun += 1
        return super().create_task(coro, **more)


def run(work: Coroutine[Any, Any, None]) -> CountingLoop:
    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work)
    return loop


def telling(messages: int) -> Program:
    """One agent tells another so many things, which it hears one by one."""
    tells = f"""
async def Main():
    for number in range({messages}):
        await Say("Clerk", str(number))
"""
    hears = f"""
async def Main():
    heard = []
    while len(heard) < {messages}:
        heard += [message["text"] for message in await WaitForMessage("*")]
    assert heard == [str(number) for number in range({messages})]
    await Say("user", "heard")
    await EndProgram()
"""
    return program(agent("Teller", MAIN, code=tells), agent("Clerk", MAIN, code=hears))


async def hold(messages: int) -> None:
    async with MontySandbox(max_workers=1) as sandbox, talking(telling(messages), Model(), sandbox) as talk:
        assert await talk.say("go") == ["heard"]


def test_what_is_said_to_another_agent_and_heard_there_begins_no_task() -> None:
    few, many = run(hold(20)).begun, run(hold(220)).begun
    assert many - few < 20


class Stalling(World):
    """A store that takes no more commits until it is told to."""

    def __init__(self) -> None:
        super().__init__(())
        self.answers = anyio.Event()
        self.answers.set()

    async def commit(self, commit: Commit, /) -> None:
        await self.answers.wait()
        await super().commit(commit)


async def _stall() -> None:
    world = Stalling()
    async with (
        MontySandbox(max_workers=1) as sandbox,
        talking(telling(FOR_EVER), Model(), sandbox, world=world) as talk,
    ):
        talk.post("go")
        await talk.until(lambda: len(talk.named("message.delivered")) > MAX_PENDING)
        world.answers = anyio.Event()
        before = len(talk.named("message.delivered"))
        for _ in range(20 * MAX_PENDING):
            await anyio.lowlevel.checkpoint()
        assert len(talk.named("message.delivered")) - before < MAX_PENDING
        world.answers.set()
        await talk.until(lambda: len(talk.named("message.delivered")) - before > MAX_PENDING)


def test_while_the_store_does_not_answer_only_so_much_goes_on() -> None:
    run(_stall())


async def _snapshots() -> None:
    world = World(())
    async with (
        MontySandbox(max_workers=1) as sandbox,
        talking(telling(FOR_EVER), Model(), sandbox, world=world) as talk,
    ):
        talk.post("go")
        await talk.until(lambda: len(world.facts) > 2 * AT_WORK * FACTS_BETWEEN)
        (session,) = {tape_owner(fact.tape) for fact in world.facts}
        kept = await world.snapshot(session, rules_version())
        assert kept is not None
        assert kept.seq > AT_WORK * FACTS_BETWEEN / 2


def test_agents_who_never_stop_talking_have_snapshots() -> None:
    run(_snapshots())


ECHO = program(
    agent(
        "Main",
        MAIN,
        code="""
async def Main():
    await Say("user", "Welcome!")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", message["text"])
""",
    )
)


class Noting(World):
    """Remembers what each commit had, and what people saw when it was asked for."""

    def __init__(self, *, nonce: bool = True) -> None:
        super().__init__((), nonce=nonce)
        self.commits: list[tuple[str, ...]] = []
        self.seen: list[list[str]] = []
        self.asked: list[str] = []

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        self.asked.append("session")
        return await super().session(shard, session)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        self.asked.append("snapshot")
        return await super().snapshot(session, version)

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]:
        self.asked.append("facts")
        return super().read_session(session, after=after, until=until)

    async def commit(self, commit: Commit, /) -> None:
        self.commits.append(tuple(fact.kind for fact in commit.facts))
        self.seen.append([shown.text for shown in self.chat])
        await super().commit(commit)


async def test_a_message_and_its_answer_are_five_commits() -> None:
    async with talking(ECHO, Model(), world=(world := Noting()), after="hi") as talk:
        world.commits.clear()
        world.seen.clear()
        assert await talk.say("again") == ["again"]
    assert [set(kinds) for kinds in world.commits] == [
        {"exchange", "heard", "in", "took"},
        {"page", "fin"},
        {"wait", "opening"},
        {"sent"},
        {"shown"},
    ]
    assert world.seen == [["Welcome!"]] * 3 + [["Welcome!", "again"]] * 2


async def test_a_new_session_is_looked_for_once_in_its_own_shard() -> None:
    assert await answered(ECHO, Model(), "hi", world=(world := Noting())) == ["Welcome!"]
    assert world.asked == ["session"]


async def test_the_id_of_a_message_is_kept_before_it_counts_as_shown() -> None:
    async with talking(ECHO, Model(), world=(world := Noting(nonce=False)), after="hi") as talk:
        world.commits.clear()
        await talk.say("again")
    assert world.commits[-2:] == [("sent",), ("shown",)]
