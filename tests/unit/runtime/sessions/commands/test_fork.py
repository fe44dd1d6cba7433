"""A conversation goes on in a second place as well: the copy knows what was said, and the original stays as it is."""

import json
from typing import Any

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.errors import OutcomeUncertain
from runtime.core.texts import english
from runtime.stores.inbox import FORK_WANTED
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.runtime.sessions.commands.test_undo import asker, counter, press, turn, undone, worker
from tests.unit.runtime.sessions.programs import MAIN, agent, program

LOST = english()("session.fork_lost")
FIRST = "🌱 This continues another conversation, from after Ada said “{text}”. What is said here stays here."


def seen_at(talk: Talk, place: Address) -> list[str]:
    return [shown.text for shown in talk.world.chat if shown.spec is not None and shown.spec.address == place]


async def fork(talk: Talk, title: str = "", **more: Any) -> Address:
    """Ask for a fork and return where it is."""
    known = set(talk.world.threads)
    await talk.say(title, kind=FORK_WANTED, **more)
    [place] = set(talk.world.threads) - known
    return place


async def test_a_fork_goes_on_from_here_and_the_original_stays() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk, "Another way")
        assert talk.world.threads[place] == "Another way"
        await talk.say("two", at=place)
        await talk.say("three", at=place)
        await talk.say("two instead")
        assert seen_at(talk, place)[1:] == ["2: two", "3: three"]
        assert seen_at(talk, ADDRESS)[-1] == "2: two instead"


async def test_both_places_say_where_the_other_is() -> None:
    async with talking(counter(), Model(), after=("hi", "one *more*")) as talk:
        place = await fork(talk, "Another [way](x)")
        [here] = seen_at(talk, ADDRESS)[-1:]
        assert here == (
            f"🌱 This conversation now also continues in a second place: [Another way(x)](at:{place.key}). "
            "Nothing changes here."
        )
        assert seen_at(talk, place) == [FIRST.format(text="one \\*more\\*") + f" [Where it began](at:{ADDRESS.key})"]


async def test_the_fork_is_recorded_with_what_it_goes_on_from() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        place = await fork(talk)
        original, copy = talk.world._records.values()
        assert copy.parent is not None
        assert (copy.address, copy.parent.session, original.ended, original.replaced_by) == (
            place,
            original.id,
            False,
            None,
        )


async def test_without_a_title_it_is_called_after_what_was_said_last() -> None:
    async with talking(counter(), Model(), after=("hi", "what about Thursday?")) as talk:
        place = await fork(talk)
        assert talk.world.threads[place] == "Fork: what about Thursday?"


async def test_the_model_and_the_people_of_the_original_are_known_in_the_fork() -> None:
    model = Model(turn("Hello."), turn("Noted: secret."), turn("Secret, of course."))
    async with talking(worker(), model, after="hi") as talk:
        await talk.say("remember: secret", name="Bob")
        place = await fork(talk)
        await talk.say("which word?", at=place)
        assert seen_at(talk, place)[-1] == "Secret, of course."
        await talk.say("", kind="who", at=place)
        assert "- Bob" in seen_at(talk, place)[-1]
    asked = "\n".join(message.content for message in model.asked[-1])
    assert "remember: secret" in asked


async def test_an_open_question_is_asked_in_the_fork_as_well() -> None:
    async with talking(asker(), Model(), after="hi") as talk:
        old = press(talk, 0)
        place = await fork(talk)
        assert seen_at(talk, place)[1:] == ["Ship it?"]
        await talk.say("No", kind="choice", choice=press(talk, 1), at=place)
        assert seen_at(talk, place)[-1] == "answer: No"
        assert await talk.say("Yes", kind="choice", choice=old) == ["answer: Yes"]


async def test_while_agents_are_at_work_the_copy_goes_on_from_the_last_rest() -> None:
    gate = anyio.Event()
    long = Reply('```python\nawait Step("Main:01:QUE")\nawait Say("user", "Done.")\nawait Yld("user")\n```', gate=gate)
    model = Model(turn("Hello."), long, turn("In the fork."))
    async with talking(worker(), model, after="hi") as talk:
        talk.post("something long")
        await model.writing.wait()
        talk.post("", kind=FORK_WANTED)
        await talk.until(lambda: any("second place" in text for text in talk.chat))
        [place] = talk.world.threads
        assert talk.world.threads[place] == "Fork: hi"
        talk.post("meanwhile", at=place)
        await talk.until(lambda: "In the fork." in talk.chat)
        gate.set()
        await talk.until(lambda: "Done." in talk.chat)
    asked = "\n".join(message.content for message in model.asked[-1])
    assert ("something long" in asked, "meanwhile" in asked) == (False, True)


async def test_before_anything_came_to_rest_there_is_nothing_to_fork() -> None:
    long = Reply('```python\nawait Step("Main:01:QUE")\n# hm', gate=anyio.Event())
    model = Model(long)
    nothing = "There is nothing to continue yet. Write first, or wait for the answer."
    async with talking(worker(), model) as talk:
        talk.post("hi")
        await model.writing.wait()
        talk.post("", kind=FORK_WANTED)
        await talk.until(lambda: nothing in talk.chat)
        assert talk.world.threads == {}


async def test_where_there_is_no_session_there_is_nothing_to_fork() -> None:
    async with talking(counter(), Model()) as talk:
        [text] = await talk.say("", kind=FORK_WANTED)
        assert text.startswith("There is nothing to continue yet")


async def test_two_forks_at_once_are_two_places() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        talk.post("", kind=FORK_WANTED)
        await talk.say("", kind=FORK_WANTED, name="Bob")
        assert len(talk.world.threads) == 2
        for place in talk.world.threads:
            await talk.say("x", at=place)
            assert seen_at(talk, place)[-1] == "1: x"


async def test_a_fork_can_be_forked_and_undone_to_before_it_was_one() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk)
        await talk.say("two", at=place)
        further = await fork(talk, at=place)
        await talk.say("three", at=further)
        assert seen_at(talk, further)[-1] == "3: three"
        await talk.say("3", kind="undo", at=further)
        assert "before Ada said “one”" in seen_at(talk, further)[-1]
        await talk.say("again", at=further)
        assert seen_at(talk, further)[-1] == "1: again"
        await talk.say("more", at=place)
        assert seen_at(talk, place)[-1] == "3: more"


async def test_undoing_the_original_leaves_the_fork_as_it_is() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk)
        assert await talk.say("", kind="undo") == [undone("one")]
        await talk.say("two", at=place)
        assert seen_at(talk, place)[-1] == "2: two"
        assert await talk.say("first") == ["1: first"]


async def test_where_no_thread_can_be_had_that_is_told_and_all_stays() -> None:
    world = World(())
    world.has_threads = False
    async with talking(counter(), Model(), world=world, after="hi") as talk:
        [text] = await talk.say("", kind=FORK_WANTED)
        assert text.startswith("I cannot open a thread here")
        assert await talk.say("one") == ["1: one"]


class Away(World):
    """A platform that does not answer for now."""

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        raise OutcomeUncertain("the platform did not answer")


async def test_a_platform_that_does_not_answer_is_told_of() -> None:
    async with talking(counter(), Model(), world=Away(()), after="hi") as talk:
        [text] = await talk.say("", kind=FORK_WANTED)
        assert "second place for this conversation: the platform did not answer" in text


async def test_whoever_spoke_in_the_new_place_first_makes_way_for_the_fork() -> None:
    class Slow(World):
        """Somebody speaks in what was opened before the fork begins there."""

        async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
            opened = await super().open_thread(to, title, nonce=nonce)
            assert opened is not None
            talk.post("anybody here?", at=opened)
            return opened

    async with talking(counter(), Model(), world=Slow(()), after=("hi", "one")) as talk:
        place = await fork(talk)
        await talk.say("two", at=place)
        assert seen_at(talk, place)[-1] == "2: two"


async def test_an_event_that_names_nothing_begins_nothing() -> None:
    async with talking(counter(), Model()) as talk:
        assert await talk.say("nonsense", kind="fork") == [LOST]
        [entry] = talk.world.discarded
        assert entry.event.text == "nonsense"


@pytest.mark.parametrize("exchanges", ["1", "2"])
async def test_the_result_of_a_fork_comes_back_also_when_something_was_undone_there(exchanges: str) -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "heard " + message["text"])
            if message["text"] == "end":
                await EndProgram()
"""
    ender = program(agent("Main", MAIN, code=code))
    async with talking(ender, Model(), after=("hi", "one")) as talk:
        place = await fork(talk)
        await talk.say("two", at=place)
        await talk.say(exchanges, kind="undo", at=place)
        await talk.say("end", at=place)
        assert seen_at(talk, ADDRESS)[-1].endswith("Its last words: “heard end”")
        (merged,) = [fact.data for fact in talk.world.facts if fact.kind == "merged"]
        assert merged["last"] > merged["first"] > 0


async def test_what_is_undone_in_a_fork_is_not_marked_where_it_was_said() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        await talk.say("one", message_id="one")
        place = await fork(talk)
        await talk.say("two", message_id="two", at=place)
        talk.world.marks.clear()
        await talk.say("2", kind="undo", at=place)
        assert talk.world.marks == [("two", "stopped")]


async def test_nothing_comes_of_a_fork_that_is_undone_as_a_whole() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk)
        await talk.say("two", at=place)
        before = seen_at(talk, ADDRESS)
        await talk.say("100", kind="undo", at=place)
        assert "at the very beginning" in seen_at(talk, place)[-1]
        assert seen_at(talk, ADDRESS) == before
        assert await talk.say("three") == ["2: three"]


@pytest.mark.parametrize("title", ["\u200b", "\u202e \u2066", "\x00", "***", " \n\t", "\u200d"])
async def test_a_title_that_nobody_can_see_is_none(title: str) -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk, title)
        assert talk.world.threads[place] == "Fork: one"


async def test_a_title_keeps_what_can_be_seen() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        family = "👩\u200d👧"
        assert talk.world.threads[await fork(talk, f"\u202e{family}\x07 a\nb *c*")] == f"{family} a b c"


async def test_a_fork_lives_on_when_one_from_a_deleted_session_would_begin_there() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        place = await fork(talk)
        await talk.say("two", at=place)
        origin = "gone 5 " + json.dumps([[ADDRESS.platform, ADDRESS.conversation, ADDRESS.thread], ""])
        assert await talk.say(origin, kind="fork", at=place) == [LOST]
        assert [entry.event.text for entry in talk.world.discarded] == [origin]
        assert await talk.say("three", at=place) == ["3: three"]
        assert talk.named("session.failed") == []


async def test_a_fork_from_a_deleted_session_begins_nothing_and_says_why() -> None:
    async with talking(counter(), Model()) as talk:
        origin = "gone 5 " + json.dumps([[ADDRESS.platform, ADDRESS.conversation, ADDRESS.thread], ""])
        assert await talk.say(origin, kind="fork") == [LOST]
        assert [entry.event.text for entry in talk.world.discarded] == [origin]
        assert talk.named("session.failed") == []
