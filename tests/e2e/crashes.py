"""Many conversations, each at another moment, whose gateway is killed, started, killed and started again.

A conversation is named `<chat>-<manner>-<moment>`. Its model answers by what it is asked; asked for the same once more,
it either repeats its words or finds other ones, as its manner says.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, gateway, key_in, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until, until_begun
from tests.fakes.models.answers import Answers, Prompt, answer_with
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

BOOTH = ROOT / "tests" / "e2e" / "programs" / "booth.pb"

CHATS = ("web", "telegram")
MANNERS = ("repeats", "rewords")
MOMENTS = (
    "before_the_answer",
    "within_a_sentence",
    "between_sentences",
    "while_waiting",
    "while_a_value_is_asked",
    "in_a_call",
    "while_a_choice_is_asked",
    "twice",
)

FIRST = "Hello! This is the booth of the theatre, and I am glad that you came."
SECOND = "So that the seat can be yours: would you tell me your name?"
ROW = "In which row would you like to sit?"
BOX = "The royal box is yours, of course."
LAST = "You have row 1, seat 3, Ada."

WORDS = {
    "welcome": FIRST,
    "ask": SECOND,
    "understand": answer_with(name="Ada"),
    "choose": "yes",
    "box": BOX,
}
"""What the model answers, by what it is asked for."""

ANSWERS = ("I am Ada", "row 1")
"""What people say to `SECOND` and `ROW`."""

ASKED = {
    "welcome": "say: .*Welcome the user",
    "ask": "say: .*Ask the user for their name",
    "understand": "understand: .*name",
    "choose": "choose: .*a royal one",
    "box": "say: .*the box is theirs",
}
"""What each of them is asked by, as `Rules` have it."""

_NOTES = ("Welcome the user", "Ask the user for", "Reserve", "If the name", "the name is", "Tell the user that")
"""How the steps begin that an agent is said to work on, where that takes it long."""

_OTHERWISE = {FIRST: "Good evening, here you get all the seats that there are.", SECOND: "Say, whom is it for?"}
"""How a model words things that it is asked for once more."""


@dataclass
class Told:
    """One conversation, and what was found out about it."""

    name: str
    talk: TelegramTalk | WebTalk
    requests: list[list[str]] = field(default_factory=list)
    """What each request for its model asked for."""
    worded: dict[str, str] = field(default_factory=dict)
    """The words that the model gave last."""
    seen: list[tuple[list[str], list[str]]] = field(default_factory=list)
    """Texts and message ids at each kill and at the end."""
    problem: str = ""

    @property
    def key(self) -> str:
        """The conversation as its session is listed."""
        return f"telegram:{self.talk.chat}" if isinstance(self.talk, TelegramTalk) else f"web:{self.talk.name}"

    @property
    def manner(self) -> str:
        return self.name.split("-")[1]

    @property
    def moment(self) -> str:
        return self.name.split("-")[2]

    @property
    def all(self) -> list[str]:
        """What people must have seen in the end: other words than a sentence began with come behind what was read."""
        first = self.worded.get("welcome", FIRST)
        read = self.seen[0][0][:1] if self.moment in ("within_a_sentence", "twice") and self.seen else []
        if read and not first.startswith(read[0]):
            first = f"{read[0]} {first}"
        return [first, self.worded.get("ask", SECOND), ROW, BOX, LAST]

    def give(self, what: str) -> str:
        """The model's answer to one question."""
        self.requests[-1].append(what)
        words = WORDS[what]
        if what in self.worded and self.manner == "rewords":
            words = _OTHERWISE.get(words, words)
        self.worded[what] = words
        return words

    def note(self) -> None:
        self.seen.append((self.talk.texts(), self.talk.ids()))


class Story:
    """All conversations, and the model that they share."""

    def __init__(self, platform: TelegramPlatform) -> None:
        self.run = 1
        self.seen_before = 0
        """How many messages of agents could be seen when this run began."""
        self.told: dict[str, Told] = {}
        for number, (chat, manner, moment) in enumerate(product(CHATS, MANNERS, MOMENTS)):
            name = f"{chat}-{manner}-{moment}"
            room = f"{manner}-{moment}".replace("_", "-")
            talk: TelegramTalk | WebTalk = TelegramTalk(platform, chat=100 + number, notes=_NOTES)
            if chat == "web":
                talk = WebTalk(room, person=f"Ada {number % 4}")
            self.told[name] = Told(name, talk)

    def answer(self, request: Mapping[str, Any]) -> Reply:
        """What the model says to this request, and where it stops to be killed."""
        prompt = Prompt.read(request["messages"])
        found = re.search(r"greetings from ([\w-]+)", prompt.asked)
        assert found is not None
        told = self.told[found[1]]
        told.requests.append([])
        rules = {pattern: lambda _, what=what: told.give(what) for what, pattern in ASKED.items()}
        return self._held(told, Answers(rules).reply(prompt))

    def _held(self, told: Told, text: str) -> Reply:
        match self.run, told.requests[-1][0], told.moment:
            case (1, "welcome", "before_the_answer") | (1, "choose", "while_a_choice_is_asked"):
                return Reply(text, hold_before=True)
            case (1, "welcome", "within_a_sentence" | "twice"):
                return Reply(text, hold_after_chars=text.index(FIRST) + 30)
            case 1, "welcome", "between_sentences":
                return Reply(text, hold_after_chars=text.index(SECOND) + 1)
            case 1, "understand", "while_a_value_is_asked":
                return Reply(text, hold_after_chars=len(text) - 2)
            case 2, "ask", "twice":
                return Reply(text, hold_after_chars=text.index(told.worded["ask"]) + 20)
        return Reply(text)

    def messages(self) -> int:
        """How many messages of agents can be seen."""
        return sum(len(told.talk.ids()) for told in self.told.values())

    async def each(self, do: Callable[[Told], Awaitable[None]]) -> None:
        """Do something in all conversations at once; one that goes wrong is left alone from then on."""

        async def one(told: Told) -> None:
            try:
                await do(told)
            except AssertionError as error:
                told.problem = f"run {self.run}: {error}"

        async with anyio.create_task_group() as tasks:
            for told in self.told.values():
                if not told.problem:
                    tasks.start_soon(one, told)


async def tell(directory: Path) -> dict[str, Told]:
    """The whole story; what each conversation looked like."""
    platform = TelegramPlatform()
    story = Story(platform)
    async with OpenAIServer(story.answer) as model, serving(platform) as address:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(directory),
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
            "PARLEY_LOGS__LEVEL": "debug",
        }
        async with gateway(directory, BOOTH, environment) as running:
            async with _watching(story, running):
                await story.each(lambda told: _until_first_kill(told, model))
            await _killed(story, running)
            async with _watching(story, running):
                await story.each(_until_second_kill)
            await _killed(story, running)
            async with _watching(story, running):
                await story.each(_until_the_end)
                await story.each(_noted)
    return story.told


@asynccontextmanager
async def _watching(story: Story, running: Gateway) -> AsyncIterator[None]:
    """See all conversations through one run, which is killed in the end unless it is the last.

    Between a platform's taking a message and our writing that down is the one moment at which a kill may leave a
    second copy on a platform without nonces. It is not one of these.
    """
    async with AsyncExitStack() as stack:
        for told in story.told.values():
            await told.talk.look(running, stack)
        yield
        if story.run < 3:
            await running.prints('"page.sent"', times=story.messages() - story.seen_before)
            await _resting(story, running)
            running.kill()


async def _resting(story: Story, running: Gateway) -> None:
    """Return when whoever has been told all there is in this run has nothing to do any more."""
    waits = ("while_waiting", "in_a_call")
    done = {told.key for told in story.told.values() if told.moment in waits or story.run > 1}
    done -= {told.key for told in story.told.values() if told.moment == "twice" or told.problem}
    with anyio.fail_after(SEEN_LIMIT_S):
        while True:
            status, listed, errors = await parley(running.data_dir, "sessions", "list", "--json")
            assert status == 0, errors
            sessions = [json.loads(line) for line in listed.splitlines()]
            if not any(one["state"] == "working" and one["conversation"] in done for one in sessions):
                return


async def _killed(story: Story, running: Gateway) -> None:
    """The end of a run; people on Telegram go on writing, then it starts again."""
    await running.gone()
    await story.each(_noted)
    story.seen_before = story.messages()
    if story.run == 1:
        await story.each(_while_it_is_down)
    story.run += 1
    await running.start()


async def _noted(told: Told) -> None:
    told.note()


async def _until_first_kill(told: Told, model: OpenAIServer) -> None:
    await told.talk.say(f"greetings from {told.name}")
    match told.moment:
        case "before_the_answer":
            await model.until(lambda: told.requests == [["welcome", "ask"]])
        case "within_a_sentence" | "twice":
            await until_begun(told.talk, FIRST[:20])
        case "between_sentences":
            await until(told.talk, FIRST)
        case _:
            await until(told.talk, FIRST, SECOND)
    match told.moment:
        case "while_a_value_is_asked":
            await told.talk.say(ANSWERS[0])
            await model.until(lambda: len(told.requests) == 2)
        case "in_a_call" | "while_a_choice_is_asked":
            await told.talk.say(ANSWERS[0])
            await until(told.talk, FIRST, SECOND, ROW)
    if told.moment == "while_a_choice_is_asked":
        await told.talk.say(ANSWERS[1])
        await model.until(lambda: len(told.requests) == 3)


async def _while_it_is_down(told: Told) -> None:
    """People write where they can; pages of ours are away with the gateway."""
    if isinstance(told.talk, TelegramTalk) and told.moment in ("while_waiting", "in_a_call"):
        await told.talk.say(ANSWERS[0 if told.moment == "while_waiting" else 1])


async def _until_second_kill(told: Told) -> None:
    if told.moment == "twice":
        await told.talk.until_that(lambda: len(told.talk.texts()) == 2)
        return
    said = isinstance(told.talk, TelegramTalk)
    match told.moment:
        case "while_a_value_is_asked" | "while_a_choice_is_asked":
            await told.talk.repeat()
        case "while_waiting" | "in_a_call" if not said:
            await told.talk.say(ANSWERS[0 if told.moment == "while_waiting" else 1])
        case "before_the_answer" | "within_a_sentence" | "between_sentences":
            await told.talk.until_that(lambda: told.talk.texts() == told.all[:2])
            await told.talk.say(ANSWERS[0])
    if told.moment not in ("in_a_call", "while_a_choice_is_asked"):
        await told.talk.until_that(lambda: told.talk.texts() == told.all[:3])
        await told.talk.say(ANSWERS[1])
    await told.talk.until_that(lambda: told.talk.texts() == told.all)


async def _until_the_end(told: Told) -> None:
    if told.moment == "twice":
        for seen, text in enumerate(ANSWERS, 2):
            await told.talk.until_that(lambda seen=seen: told.talk.texts() == told.all[:seen])  # type: ignore[misc]
            await told.talk.say(text)
    await told.talk.until_that(lambda: told.talk.texts() == told.all)
