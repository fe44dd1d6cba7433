"""Words in the thread below an agent's open question, or in reply to it, are its answer, once."""

import anyio
from anyio import wait_all_tasks_blocked
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.quote import Quote
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.stores.sessions import HeldPlace
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program

CLOSED = english()("session.question_thread_closed")
ONE = """
    await Say("user", "went " + str(await Ask("Which way?"{more})))
    for message in await WaitForMessage("user"):
        await Say("user", "heard " + message["text"])
"""
TWO = """
    import asyncio
    ways = await asyncio.gather(Ask("Which way?", ["left", "right"]), Ask("How fast?", ["slow", "quick"]))
    await Say("user", " and ".join(ways))
"""


class SlowPlaces(MemoryPlaceStore):
    """Places that are held when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_put = anyio.Event(), anyio.Event()

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        self.asked.set()
        await self.may_put.wait()
        await super().put(place, held)


def asking(code: str = ONE.format(more="")) -> Program:
    return program(agent("Main", MAIN, code=f"async def Main():\n{code}"))


async def asked(talk: Talk, text: str = "Which way?") -> str:
    """The platform's id of an open question that people see."""
    await talk.until(lambda: text in talk.chat)
    await talk.world.idle.wait()
    return str(talk.chat.index(text))


def below(message: str) -> Address:
    return replace(ADDRESS, thread=message)


def said_in(talk: Talk, thread: Address) -> list[str]:
    return [seen.text for seen in talk.world.chat if seen.spec is not None and seen.spec.address == thread]


async def test_words_in_the_thread_answer_it_and_later_ones_are_told_that_it_is_closed() -> None:
    places = MemoryPlaceStore()
    async with talking(asking(), Model(), places=places) as talk:
        talk.post("hi")
        thread = below(await asked(talk))
        assert thread.key in places.held
        assert await talk.say("left", place=thread) == ["went left"]
        assert await talk.say("or right?", place=thread) == [CLOSED]
        assert said_in(talk, thread) == [CLOSED]
        assert await talk.say("hello") == ["heard hello"]


async def test_of_two_people_at_once_in_the_thread_the_first_answers() -> None:
    async with talking(asking(), Model(), places=MemoryPlaceStore()) as talk:
        talk.post("hi")
        thread = below(await asked(talk))
        talk.post("left", place=thread)
        assert sorted(await talk.say("right", name="Bo", place=thread)) == sorted(["went left", CLOSED])


async def test_only_who_is_asked_answers_in_the_thread() -> None:
    async with talking(asking(ONE.format(more=', of="Ada"')), Model(), places=MemoryPlaceStore()) as talk:
        talk.post("hi")
        thread = below(await asked(talk))
        assert await talk.say("left", name="Bo", place=thread) == ["This question is for Ada."]
        assert await talk.say("right", place=thread) == ["went right"]


async def test_other_words_than_the_options_are_answered_in_the_thread() -> None:
    choosing = asking(ONE.format(more=', ["left", "right"]'))
    async with talking(choosing, Model(), places=MemoryPlaceStore()) as talk:
        talk.post("hi")
        thread, told = below(await asked(talk)), english()("session.question_choose", options="left, right")
        assert await talk.say("what does left mean?", place=thread) == [told]
        assert said_in(talk, thread) == [told]
        assert await talk.say("left", place=thread) == ["went left"]


async def test_what_people_say_to_each_other_in_the_thread_answers_nothing() -> None:
    async with talking(asking(), Model(), places=MemoryPlaceStore()) as talk:
        talk.post("hi")
        thread = below(await asked(talk))
        assert await talk.say("@Ada what do you think?", name="Bo", place=thread) == []
        assert (await talk.say("left", place=thread))[0] == "went left"


async def test_a_thread_below_a_question_that_was_answered_elsewhere_is_an_ordinary_one_again() -> None:
    places = MemoryPlaceStore()
    async with talking(asking(), Model(), places=places) as talk:
        talk.post("hi")
        thread = below(await asked(talk))
        assert await talk.say("left") == ["went left"]
        assert thread.key not in places.held


async def test_a_question_counts_as_shown_only_once_its_thread_is_held() -> None:
    places = SlowPlaces()
    async with talking(asking(), Model(), places=places) as talk:
        talk.post("hi")
        await places.asked.wait()
        await wait_all_tasks_blocked()
        assert talk.facts("sent")
        assert not talk.facts("shown"), "a crash now would leave a question whose thread nobody holds"
        places.may_put.set()
        await talk.until(lambda: bool(talk.facts("shown")))


async def test_a_message_of_a_webhook_names_its_thread_without_the_webhook() -> None:
    places = MemoryPlaceStore()
    async with talking(asking(), Model(), places=places) as talk:
        talk.world.posted_by = "@77"
        talk.post("hi")
        thread = below((await asked(talk)).partition("@")[0])
        assert thread.key in places.held
        assert await talk.say("left", place=thread) == ["went left"]


async def test_a_reply_answers_the_one_of_two_questions_that_it_quotes() -> None:
    async with talking(asking(TWO), Model(), places=MemoryPlaceStore()) as talk:
        talk.post("hi")
        first, second = await asked(talk), await asked(talk, "How fast?")
        assert await talk.say("2", quote=Quote(second, "Main", "How fast?")) == []
        assert await talk.say("left", quote=Quote(first, "Main", "Which way?")) == ["left and quick"]
