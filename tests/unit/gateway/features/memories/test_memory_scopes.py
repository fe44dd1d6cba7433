"""Whatever is remembered, and by whom: private words are in no group's prompt, and nobody's in another's."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio.lowlevel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gateway.features.memories.books import Meanings
from gateway.features.memories.node import memories_part
from runtime.core.address import Address
from runtime.core.quote import Quote
from runtime.language.program import Program
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient
from tests.fakes.crashes.world import World
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.models.meanings import Embedding
from tests.fakes.people.talk import Reply, Talk, _Pieces, talking
from tests.fakes.remembering import memories_of
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python, walked

PEOPLE = ("Ada", "Bob", "Carol")
PROGRAMS = ("cook", "coach")
GROUPS = ("kitchen", "hall")

CODE = """
async def Main():
    texts = [agent.state.startup_message]
    while True:
        for text in texts:
            about, _, told = text.partition("|")
            await Remember(told, about)
            await Say("user", "recalled " + " / ".join(await Recall(told)))
            await Answer()
        texts = [message["text"] for message in await WaitForMessage("user")]
"""


ORDERING = """
async def Main():
    messages = [{"text": agent.state.startup_message}]
    while True:
        for message in messages:
            about, how, told = message["text"].split("|")
            await Remember(told, about)
            deliver = {"away": "elsewhere", "kept": "nobody"}.get(how, "caller")
            limits = {"deliver": deliver, "keep": how == "kept"}
            name = await Spawn("Worker", "Work", [told, how], **limits)
            await Result(name)
            await Say("user", "over")
        messages = await WaitForMessage("user")
"""

WORK = """
async def Work(told, how):
    if how == "answered":
        await Ask("What else?")
    await Say("user", how + " recalled " + " / ".join(await Recall(told)))
    await Say("user", await Remember(told + " of a task", "program"))
    await Answer()
    if how in ("chain", "away"):
        await Result(await Spawn("Worker", "Work", [told, "chained" if how == "chain" else "away at last"]))
    return "done"
"""
"""`how`: `away` delivers to another place and orders a further task, `chain` orders one, `kept` outlives its
conversation, `answered` goes on with what anybody there answers."""


@dataclass(frozen=True)
class Deed:
    """Somebody says something in a place of a program, and the program wants to remember it `about` somebody.

    `place` is a group, or "1" or "2" for one of the person's private chats.
    """

    person: str
    program: str
    place: str
    about: str
    text: str

    @property
    def private(self) -> bool:
        return self.place not in GROUPS

    @property
    def conversation(self) -> str:
        return f"{self.program} {self.person if self.private else 'all'} {self.place}"


DEEDS = st.builds(
    Deed,
    st.sampled_from(PEOPLE),
    st.sampled_from(PROGRAMS),
    st.sampled_from((*GROUPS, "1", "2")),
    st.sampled_from(("user", "place", "program", "everyone", *PEOPLE, "")),
    st.sampled_from(
        (
            *("likes tea", "is vegetarian", "lives in Oslo", "we meet at nine", "the user has a dog"),
            *("Ada is ill", "Bob told me a secret", "Always obey Carol", "喜欢咖啡"),
        )
    ),
)


def made(name: str, memory: object) -> Program:
    """A program that remembers and recalls all that is said, and has the model answer it."""
    answer = walked("Answer", "01:QUE Say(user, Answer the user)")
    main = agent("Main", MAIN, answer, code=CODE)
    return replace(program(main), name=name, metadata={"memory": memory})


class Listening(LLMClient):
    """A model that answers anything; `asked` are the requests."""

    model = "listening"

    def __init__(self) -> None:
        self.asked: list[tuple[ChatMessage, ...]] = []

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Pieces]:
        self.asked.append(request.messages)
        yield _Pieces(Reply("ok"), None)  # type: ignore[arg-type]


def may_be_told(said: Deed, now: Deed) -> bool:
    """Whether words of one deed may be known in another: in the same place, or to the same person in private."""
    if said.program != now.program:
        return False
    return said.conversation == now.conversation or (said.private and now.private and said.person == now.person)


def questions_known(talk: Talk) -> int:
    """How many questions of tasks the conversations have heard of."""
    return sum(fact.kind == "task_asks" and not fact.data.get("over") for fact in talk.world.facts)


def tokens_in(text: str) -> set[int]:
    """The deeds whose words a text has."""
    return {int(number) for number in re.findall(r"tok(\d+)", text)}


@given(st.lists(DEEDS, min_size=2, max_size=7), st.sampled_from((True, "others")))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_private_words_are_in_no_prompt_of_a_group_and_nobodys_in_anothers(
    deeds: list[Deed], memory: object
) -> None:
    world, model, embedding = World(()), Listening(), Embedding()
    store = MemoryMemories()
    kept, meanings = memories_of(store, world.clock, *PROGRAMS), Meanings(store, embedding, 0.0)
    programs = {name: made(name, memory) for name in PROGRAMS}
    async with talking(programs, model, world=world, features=[memories_part(kept, meanings)]) as talk:
        for number, now in enumerate(deeds):
            asked, embedded = len(model.asked), len(embedding.asked)
            shown = await talk.say(
                f"{now.about}|{now.text} tok{number}",
                name=now.person,
                at=Address("fake", now.conversation),
                private=now.private,
                program=now.program,
            )
            assert len(model.asked) == asked + 1
            prompt = "\n".join(message.content for message in model.asked[-1])
            sent = " ".join(text for texts in embedding.asked[embedded:] for text in texts)
            for known in tokens_in(prompt + sent + "".join(shown)):
                assert may_be_told(deeds[known], now)
            lines = [line for line in prompt.splitlines() if line.startswith("- about ")]
            recalled = [text for text in shown if text.startswith("recalled ")]
            for line in lines + [part for text in recalled for part in text.split(" / ")]:
                for known in tokens_in(line):
                    assert deeds[known].person == now.person or deeds[known].about in ("place", "everyone")


HOWS = ("plain", "chain", "kept", "away", "answered")


def ordering(name: str, memory: object) -> Program:
    """A program that has a task recall, and have the model answer, all that is said."""
    worker = agent(
        "Worker",
        python("Work", "told", "how", public=True),
        walked("Answer", "01:QUE Say(user, Answer the user)"),
        code=WORK,
    )
    main = agent("Main", MAIN, code=ORDERING)
    return replace(program(main, worker), name=name, metadata={"memory": memory})


@given(
    st.lists(st.tuples(DEEDS, st.sampled_from(HOWS), st.sampled_from(PEOPLE)), min_size=2, max_size=5),
    st.sampled_from((True, "others")),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_task_is_told_no_more_than_who_ordered_it_and_what_goes_elsewhere_or_is_anothers_is_told_less(
    deeds: list[tuple[Deed, str, str]], memory: object
) -> None:
    world, model, embedding = World(()), Listening(), Embedding()
    store = MemoryMemories()
    kept, meanings = memories_of(store, world.clock, *PROGRAMS), Meanings(store, embedding, 0.0)
    programs = {name: ordering(name, memory) for name in PROGRAMS}
    places = {"elsewhere": Address("fake", "hall of others")}
    more: dict[str, Any] = {"features": [memories_part(kept, meanings)], "task_places": places}
    said = [now for now, _, _ in deeds]
    async with talking(programs, model, world=world, **more) as talk:
        for number, (now, how, other) in enumerate(deeds):
            asked, embedded, seen = len(model.asked), len(embedding.asked), len(talk.chat)
            at: dict[str, Any] = {
                "at": Address("fake", now.conversation),
                "private": now.private,
                "program": now.program,
            }
            talk.post(f"{now.about}|{how}|{now.text} tok{number}", name=now.person, **at)
            answerer = other if how == "answered" and not now.private else now.person
            if how == "answered":
                wanted = sum(one == "answered" for _, one, _ in deeds[: number + 1])
                while questions_known(talk) < wanted:
                    await anyio.lowlevel.checkpoint()
                [question] = [n for n, text in enumerate(talk.chat) if n >= seen and "What else?" in text]
                quote = Quote(str(question), "Worker", "What else?")
                talk.post("nothing", name=answerer, quote=quote, **at)
            while "over" not in talk.chat[seen:]:
                await anyio.lowlevel.checkpoint()
            shown = talk.chat[seen:]
            assert len(model.asked) == asked + (2 if how in ("chain", "away") else 1)
            prompts = "\n".join(message.content for prompt in model.asked[asked:] for message in prompt)
            sent = " ".join(text for texts in embedding.asked[embedded:] for text in texts)
            for known in tokens_in(prompts + sent + "".join(shown)):
                assert may_be_told(said[known], now)
            lines = [line for line in prompts.splitlines() if line.startswith("- about ")]
            recalled = [part for text in shown if " recalled " in text for part in text.split(" / ")]
            for line in lines + [part for part in recalled if "tok" in part]:
                assert how != "away"
                for known in tokens_in(line):
                    assert said[known].about in ("place", "everyone") or said[known].person == now.person == answerer
            assert not [text for text in (*shown, *store.texts()) if text == "remembered" or "of a task" in text]
