"""One node serves several programs; what models may cost is asked before they are called."""

from dataclasses import replace

from runtime.core.address import Address
from runtime.language.program import Program
from runtime.llm.client import Usage
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program


def named(name: str) -> Program:
    code = f"""
async def Main():
    await Say("user", "{name} is here")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "{name}: " + message["text"])
"""
    return program(agent(name, MAIN, code=code))


BOTH = {"desk": named("Desk"), "cafe": named("Cafe")}


async def test_an_event_chooses_the_program_that_begins_and_the_session_keeps_it() -> None:
    async with talking(BOTH, Model()) as talk:
        assert await talk.say("hi", program="cafe") == ["Cafe is here"]
        assert await talk.say("and?", program="desk") == ["Cafe: and?"]
    async with talking(BOTH, Model(), world=talk.world) as later:
        assert await later.say("still?") == ["Cafe: still?"]


async def test_the_first_program_serves_where_none_is_named_and_new_begins_another() -> None:
    async with talking(BOTH, Model()) as talk:
        assert await talk.say("hi") == ["Desk is here"]
        assert await talk.say("", kind="new", program="cafe") == ["Cafe is here"]
        assert await talk.say("x") == ["Cafe: x"]


async def test_a_session_whose_program_is_gone_says_so_until_new() -> None:
    gone = "⚠️ The program cafe is no longer available here. /new starts another conversation."
    async with talking(BOTH, Model()) as talk:
        await talk.say("hi", program="cafe")
    async with talking({"desk": BOTH["desk"]}, Model(), world=talk.world) as later:
        assert await later.say("hello?") == [gone]
        assert await later.say("hello?") == [gone]
        assert await later.say("", kind="new") == ["Desk is here"]
        assert await later.say("x") == ["Desk: x"]


async def test_a_message_for_a_program_that_is_gone_is_answered_with_that() -> None:
    async with talking(BOTH, Model()) as talk:
        (said,) = await talk.say("hi", program="shop")
        assert "The program shop is no longer available here" in said
        assert await talk.say("", kind="new") == ["Desk is here"]


async def test_a_spent_allowance_ends_the_playbook_with_its_sentence_and_no_model_is_asked() -> None:
    asked: list[tuple[str, str | None]] = []

    async def allowance(address: Address, person: str | None) -> str | None:
        asked.append((address.key, person))
        return None if len(asked) == 1 else "You have used up what you may spend in a day."

    main = program(agent("Main", llm("Main", "01:QUE Ask; YLD for user", begins=True)))
    model = Model(block('await Step("Main:01:QUE")', 'await Say("user", "Well?")', 'await Yld("user")'))
    async with talking(main, model, allowance=allowance, after="go") as talk:
        assert await talk.say("more", name="Bo") == [
            "⚠️ Main failed: You have used up what you may spend in a day. Your next message begins anew."
        ]
    assert asked == [("test:1", "test:Ada"), ("test:1", "test:Bo")]
    (answered,) = talk.named("llm.answered")
    assert (answered.data["conversation"], answered.data["participant_id"]) == ("test:1", "test:Ada")


async def test_an_answer_that_is_cut_at_its_greatest_length_is_told() -> None:
    main = program(agent("Main", llm("Main", "01:QUE Ask; YLD for user", begins=True)))
    whole = block('await Step("Main:01:QUE")', 'await Say("user", "Well?")', 'await Yld("user")')
    model = Model(replace(whole, usage=Usage(120, 4096, cut=True)), whole)
    async with talking(main, model, after="go") as talk:
        await talk.say("more")
    (cut,) = talk.named("llm.cut")
    assert (cut.data["purpose"], cut.data["tokens_out"]) == ("execute", 4096)
    assert len(talk.named("llm.answered")) == 2
