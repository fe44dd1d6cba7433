"""A program that is replaced while conversations go on: work ends on its version, and what comes next has the new."""

from dataclasses import dataclass, field

import anyio

from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

NEWS = "The program has changed in the meantime ({}). We continue with the new version."
GREET = block(
    'await Step("Main:01:QUE")', 'await Say("user", "Who?")', 'await Step("Main:02:YLD")', 'await Yld("user")'
)
ENDS = block(
    'await Step("Main:03:QUE")', 'await Say("user", "Hello!")', 'await Step("Main:04:YLD")', 'await Yld("exit")'
)


def version(*changed: str) -> Program:
    """The program with these steps in place of its own of the same number."""
    steps = {"01": "01:QUE Ask the name", "02": "02:YLD for user", "03": "03:QUE Greet", "04": "04:YLD for exit"}
    main = llm("Main", *(steps | {one[:2]: one for one in changed}).values(), begins=True)
    return program(agent("Asker", main), digest=" ".join(("version", *changed)))


@dataclass
class Kept:
    """The versions by digest, with the order in which nodes took them up."""

    programs: dict[str, Program] = field(default_factory=dict)

    async def find(self, digest: str, /) -> Program | None:
        return self.programs.get(digest)

    async def is_newer(self, digest: str, than: Program, /) -> bool:
        order = list(self.programs)
        return digest in order and than.digest in order and order.index(digest) > order.index(than.digest)


def kept(*programs: Program) -> Kept:
    return Kept({one.digest: one for one in programs})


OLD = version()
LATER_STEP = version("03:QUE Greet warmly")
THIS_STEP = version("02:YLD for user at once")


async def test_an_answer_that_is_being_written_ends_on_its_version_and_the_next_message_has_the_new() -> None:
    served, gate = {"test": OLD}, anyio.Event()
    model = Model(Reply(GREET.text, gate=gate), ENDS)
    async with talking(served, model, versions=kept(OLD, LATER_STEP)) as talk:
        talk.post("hi")
        await talk.until(model.writing.is_set)
        served["test"] = LATER_STEP
        gate.set()
        await talk.world.idle.wait()
        assert talk.chat == ["Who?"]
        assert await talk.say("Ada") == [NEWS.format("changed: Main"), "Hello!"]
    assert "03:QUE Greet warmly" not in model.asked[0][0].content
    assert "03:QUE Greet warmly" in model.asked[1][0].content


async def test_a_session_that_cannot_go_on_with_the_new_version_ends_on_its_own() -> None:
    served, model = {"test": OLD}, Model(GREET, ENDS, GREET)
    async with talking(served, model, versions=kept(OLD, THIS_STEP), after="hi") as talk:
        served["test"] = THIS_STEP
        assert await talk.say("Ada") == ["Hello!"]
        assert await talk.say("again") == ["Who?"]
    assert "02:YLD for user at once" not in model.asked[1][0].content
    assert "02:YLD for user at once" in model.asked[2][0].content


async def test_a_session_ends_on_its_version_in_another_process_too() -> None:
    async with talking(OLD, Model(GREET)) as talk:
        await talk.say("hi")
    async with talking(THIS_STEP, Model(ENDS), world=talk.world, versions=kept(OLD, THIS_STEP)) as later:
        assert await later.say("Ada") == ["Hello!"]
        assert later.named("session.failed") == []


async def test_a_session_keeps_its_version_on_a_node_that_serves_an_older_one() -> None:
    async with talking(LATER_STEP, Model(GREET)) as talk:
        await talk.say("hi")
    model = Model(ENDS)
    assert await answered(OLD, model, "Ada", world=talk.world, versions=kept(OLD, LATER_STEP)) == ["Hello!"]
    assert "03:QUE Greet warmly" in model.asked[0][0].content


async def test_a_program_that_was_put_back_is_the_newer_one() -> None:
    async with talking(LATER_STEP, Model(GREET)) as talk:
        await talk.say("hi")
    async with talking(OLD, Model(ENDS), world=talk.world, versions=kept(LATER_STEP, OLD)) as back:
        assert await back.say("Ada") == [NEWS.format("changed: Main"), "Hello!"]


async def test_a_version_that_is_not_kept_is_refused_as_before() -> None:
    async with talking(OLD, Model(GREET)) as talk:
        await talk.say("hi")
    (said,) = await answered(THIS_STEP, Model(), "Ada", world=talk.world, versions=kept(THIS_STEP))
    assert "cannot continue" in said
