"""Many conversations, each at another moment, whose gateway is killed, started, killed and started again.

A conversation is named `<chat>-<manner>-<moment>`. Its model is a script: it answers in two turns, and after a restart
it either repeats its reply or resumes it, as its manner says.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Gateway, gateway, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until, until_begun
from tests.fakes.openai_server import OpenAIServer, Reply
from tests.fakes.telegram_platform import TOKEN, TelegramPlatform
from tests.fakes.telegram_server import serving

CHATS = ("web", "telegram")
MANNERS = ("repeats", "resumes")
MOMENTS = ("before_the_answer", "within_a_sentence", "between_sentences", "while_waiting", "with_a_message", "twice")

FIRST = "Hello! I am the greeter of this house, and I am glad that you came."
SECOND = "Would you tell me your name, so that I can greet you properly?"
THIRD = "Nice to meet you, Ada!"
ALL = [FIRST, SECOND, THIRD]

_TURNS = (
    [
        'await Step("Main:01:QUE")\n# trig? no',
        f'await Say("user", "{FIRST}")',
        f'await Say("user", "{SECOND}")',
        'await Yld("user")',
    ],
    [
        'await Var("name", "Ada")\n# trig? no',
        'await Step("Main:02:QUE")\n# trig? no',
        'await Say("user", f"Nice to meet you, {name}!")',
        'await Step("Main:03:YLD")',
        'await Var("__", "Greeted Ada.")',
        'await Yld("exit")',
    ],
)


@dataclass
class Told:
    """One conversation, and what was found out about it."""

    name: str
    talk: TelegramTalk | WebTalk
    requests: list[int] = field(default_factory=list)
    """The turn of each request for its model."""
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
            talk: TelegramTalk | WebTalk = WebTalk(room) if chat == "web" else TelegramTalk(platform, chat=100 + number)
            self.told[name] = Told(name, talk)

    def answer(self, request: Mapping[str, Any]) -> Reply:
        """What the model says to this request, and where it stops to be killed."""
        messages = request["messages"]
        found = re.search(r"greetings from ([\w-]+)", json.dumps(messages))
        assert found is not None
        told = self.told[found[1]]
        turn = sum(1 for message in messages if message["role"] == "assistant")
        told.requests.append(turn)
        return self._held(told, turn, _reply(turn, told.manner, str(messages[-1]["content"])))

    def _held(self, told: Told, turn: int, text: str) -> Reply:
        match self.run, turn, told.moment:
            case (1, 0, "before_the_answer") | (1, 1, "with_a_message"):
                return Reply(text, hold_before=True)
            case (1, 0, "within_a_sentence" | "twice"):
                return Reply(text, hold_after_chars=text.index(FIRST) + 30)
            case 1, 0, "between_sentences":
                return Reply(text, hold_after_chars=text.index(f'await Say("user", "{SECOND}'))
            case 2, 0, "twice":
                return Reply(text, hold_after_chars=text.index(SECOND) + 30)
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


def _reply(turn: int, manner: str, asked: str) -> str:
    statements: Sequence[str] = _TURNS[turn]
    head = "# recap: we are at the beginning\n# plan: go on"
    broken_off = re.search(r"is `# resume: (\d+)`", asked)
    if broken_off and manner == "resumes":
        head = f"# resume: {broken_off[1]}"
        statements = statements[int(broken_off[1]) :]
    return "```python\n" + "\n".join([head, *statements]) + "\n```"


async def tell(directory: Path) -> dict[str, Told]:
    """The whole story; what each conversation looked like."""
    platform = TelegramPlatform()
    story = Story(platform)
    async with OpenAIServer(story.answer) as model, serving(platform) as address:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
            "PARLEY_LOGS__LEVEL": "debug",
        }
        async with gateway(directory, ROOT / "examples" / "hello.pb", environment) as running:
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
    done = {told.key for told in story.told.values() if (told.moment == "while_waiting") or story.run > 1}
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
            await model.until(lambda: told.requests == [0])
        case "within_a_sentence" | "twice":
            await until_begun(told.talk, FIRST[:20])
        case "between_sentences":
            await until(told.talk, FIRST)
        case _:
            await until(told.talk, FIRST, SECOND)
    if told.moment == "with_a_message":
        await told.talk.say("Ada")
        await model.until(lambda: told.requests == [0, 1])


async def _while_it_is_down(told: Told) -> None:
    if isinstance(told.talk, TelegramTalk) and told.moment == "while_waiting":
        await told.talk.say("Ada")


async def _until_second_kill(told: Told) -> None:
    if told.moment == "with_a_message":
        await told.talk.repeat()
    elif told.moment == "while_waiting":
        if not isinstance(told.talk, TelegramTalk):
            await told.talk.say("Ada")
    elif told.moment == "twice":
        await until_begun(told.talk, SECOND[:20])
        return
    else:
        await until(told.talk, FIRST, SECOND)
        await told.talk.say("Ada")
    await until(told.talk, *ALL)


async def _until_the_end(told: Told) -> None:
    if told.moment == "twice":
        await until(told.talk, FIRST, SECOND)
        await told.talk.say("Ada")
    await until(told.talk, *ALL)
