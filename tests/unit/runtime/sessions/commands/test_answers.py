"""Whom the answers of commands are for: who gave them, where others read along."""

from runtime.core.texts import english
from runtime.stores.inbox import FORK_WANTED
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

WORKER = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))


async def test_who_asks_is_answered_alone_and_what_was_done_is_told_to_all() -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Say("user", "Hi.")', 'await Yld("user")'))
    async with talking(WORKER, model) as talk:
        await talk.say("go", private=False)
        for kind, text in (
            ("status", ""),
            ("who", ""),
            ("agents", ""),
            ("tasks", ""),
            ("tasks", "what?"),
            ("meeting", ""),
            ("meeting", "101"),
            ("start", ""),
            ("tasks", "stop 7"),
            ("undo", "what?"),
            ("iam", "nobody"),
            ("invite", "nobody"),
            ("leave", ""),
        ):
            assert await talk.say(text, kind=kind, private=False, name="Ben"), kind
            assert talk.world.specs[-1].alone == "test:Ben", (kind, text)
        await talk.say("", kind="stop", private=False)
        assert talk.world.specs[-1].alone == ""


async def test_who_cannot_fork_is_told_alone_and_a_fork_to_all() -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Say("user", "Hi.")', 'await Yld("user")'))
    async with talking(WORKER, model) as talk:
        await talk.say("go", private=False)
        talk.world.has_threads = False
        await talk.say("", kind=FORK_WANTED, private=False, name="Ben")
        assert (talk.chat[-1], talk.world.specs[-1].alone) == (english()("session.no_threads"), "test:Ben")
        talk.world.has_threads = True
        await talk.say("", kind=FORK_WANTED, private=False, name="Ben")
        assert [spec.alone for spec in talk.world.specs[-2:]] == ["", ""]


async def test_in_private_and_to_other_programs_nothing_is_answered_alone() -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Say("user", "Hi.")', 'await Yld("user")'))
    async with talking(WORKER, model) as talk:
        await talk.say("", kind="status", private=False)  # before there is a session
        assert talk.world.specs[-1].alone == "test:Ada"
        await talk.say("go")
        await talk.say("", kind="status")
        assert talk.world.specs[-1].alone == ""
        await talk.say("", kind="status", private=False, person_id="client:desk")
        assert talk.world.specs[-1].alone == ""


async def test_people_who_show_the_same_name_are_listed_by_the_names_that_tell_them_apart() -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Say("user", "Hi.")', 'await Yld("user")'))
    async with talking(WORKER, model) as talk:
        await talk.say("go", private=False)
        [listed] = await talk.say("", kind="who", private=False, person_id="test:other")
        assert listed.split("\n") == ["- Ada (1)", "- Ada (2)", "- Worker (agent)"]
