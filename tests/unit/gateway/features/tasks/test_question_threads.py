"""Words in the thread below a task's question answer it, once, and begin no conversation of their own."""

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.texts import english
from runtime.stores.orders import TaskLimits
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.gateway.features.tasks.test_task_questions import ASKED, HEARING, ONE, asked, guided, shown

CLOSED = english()("session.question_thread_closed")
ONLY = english()("session.question_thread_only")


def below(talk: Talk, places: MemoryPlaceStore, question: str) -> Address:
    """The thread below what is asked, which is held."""
    thread = replace(ADDRESS, thread=shown(talk, question))
    assert thread.key in places.held
    return thread


def said_in(talk: Talk, thread: Address) -> list[str]:
    return [seen.text for seen in talk.world.chat if seen.spec is not None and seen.spec.address == thread]


def over(talk: Talk) -> int:
    return sum(fact.kind == "task_over" for fact in talk.world.facts)


async def test_words_in_the_thread_answer_also_where_the_conversation_waits_for_words() -> None:
    places = MemoryPlaceStore()
    async with talking(guided(HEARING), Model(), tasks=TaskLimits(), places=places) as talk:
        talk.post("hi")
        await asked(talk)
        thread = below(talk, places, ASKED.format(name="Choose"))
        talk.post("left", place=thread)
        await talk.until(lambda: over(talk) == 1)
        assert (await talk.say("look"))[-1] == "[('task 1', 'completed')]"
        await talk.say("and back", place=thread)
        assert said_in(talk, thread) == [CLOSED]
        assert not [text for text in talk.chat if text.startswith("heard")]


async def test_of_two_at_once_in_the_thread_the_first_answers_and_the_second_is_told_there() -> None:
    places = MemoryPlaceStore()
    async with talking(guided(ONE.format(name="Choose")), Model(), tasks=TaskLimits(), places=places) as talk:
        talk.post("hi")
        await asked(talk)
        thread = below(talk, places, ASKED.format(name="Choose"))
        talk.post("left", place=thread)
        talk.post("right", name="Bob", place=thread)
        await talk.until(lambda: bool(said_in(talk, thread)) and over(talk) == 1)
        await talk.until(lambda: any(text.startswith("went") for text in talk.chat))
        assert [text for text in talk.chat if text.startswith("went")] == ["went left"]
        assert said_in(talk, thread) == [CLOSED]


async def test_in_the_thread_somebody_else_is_told_whose_question_it_is() -> None:
    places = MemoryPlaceStore()
    async with talking(guided(ONE.format(name="For")), Model(), tasks=TaskLimits(), places=places) as talk:
        talk.post("hi")
        await asked(talk)
        thread = below(talk, places, ASKED.format(name="For"))
        talk.post("left", name="Bob", place=thread)
        await talk.until(lambda: said_in(talk, thread) == ["This question is for Ada."])
        talk.post("right", place=thread)
        await talk.until(lambda: any(text.startswith("went") for text in talk.chat))
        assert "went right" in talk.chat


async def test_undo_is_refused_in_the_thread_and_a_new_session_begins_there() -> None:
    places = MemoryPlaceStore()
    async with talking(guided(HEARING), Model(), tasks=TaskLimits(), places=places) as talk:
        talk.post("hi")
        await asked(talk)
        thread = below(talk, places, ASKED.format(name="Choose"))
        talk.post("", kind="undo", place=thread)
        await talk.until(lambda: said_in(talk, thread) == [ONLY])
        talk.post("left", place=thread)
        await talk.until(lambda: over(talk) == 1)
        talk.post("", kind="new", place=thread)
        await talk.until(lambda: len(said_in(talk, thread)) == 2)
        assert thread.key not in places.held
        assert said_in(talk, thread)[1].startswith("Task 1")  # a session of its own, which asks anew


async def test_words_in_the_thread_are_answered_there_when_the_session_is_gone() -> None:
    places, ending = MemoryPlaceStore(), guided(ONE.format(name="Choose") + "    await EndProgram()\n")
    async with talking(ending, Model(), tasks=TaskLimits(), places=places) as talk:
        talk.post("hi")
        await asked(talk)
        thread = below(talk, places, ASKED.format(name="Choose"))
        talk.post("left", place=thread)
        await talk.until(lambda: ADDRESS.key not in talk.world._current)
        talk.post("right", place=thread)
        await talk.until(lambda: said_in(talk, thread) == [CLOSED])
