"""Conversations whose models misbehave, each in its own way, until the person writes once more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from tests.e2e.crashes import ANSWERS, ASKED, BOOTH, BOX, FIRST, LAST, ROW, SECOND, WORDS
from tests.e2e.gateway_process import Room, gateway, key_in
from tests.fakes.models.answers import Answers, Prompt
from tests.fakes.models.openai_server import OpenAIServer, Reply

ALL = [FIRST, SECOND, ROW, BOX, LAST]
"""What people see of a model that behaves."""

MAX_SHOWN_CHARS = 204_000
"""A message that does not end is cut off here: at the limit of a reply, and the piece in which it is reached."""

_RULES = {pattern: WORDS[what] for what, pattern in ASKED.items()}


@dataclass(frozen=True)
class Bad:
    """A model that answers badly where the first thing that it is asked is of the kind `at` ("" for any).

    `reply` makes its reply from a good one. `once`: it does so the first time alone. `told` is what the person is told
    then, as a regular expression; "" where the conversation goes on as if nothing had been.
    """

    at: str
    reply: Callable[[str], Reply]
    once: bool = False
    told: str = ""


def _says(text: str) -> Callable[[str], Reply]:
    return lambda _: Reply(text)


_NO_ANSWER = r"⚠️ Main failed: "
_PROSE = "Sure, I would be glad to help you with that! What is it that you would like to know about us?"
_JSON = '{"action": "greet", "arguments": {"mood": 3}}'
_CODE = f'```python\nawait Say("user", "{FIRST}")\nawait Yld("user")\n```'
_ENDLESS = "on and on " * 25_000

BAD = {
    "refuses-key": Bad(
        "",
        lambda _: Reply(status=401, error={"message": "Incorrect API key provided", "code": "invalid_api_key"}),
        told="⚠️ I cannot continue: the language model refused my key",
    ),
    "fails": Bad(
        "",
        lambda _: Reply(status=500),
        told="⚠️ I cannot continue: the language model cannot be reached right now",
    ),
    "is-cut-off": Bad(
        "say", lambda good: Reply(good, drop_after_chars=24), told="⚠️ I cannot continue: the language model "
    ),
    "is-cut-off-once": Bad("say", lambda good: Reply(good, drop_after_chars=24), once=True),
    "is-cut-off-in-json": Bad("understand", lambda good: Reply(good, drop_after_chars=16), once=True),
    "says-nothing": Bad("say", _says(""), told=_NO_ANSWER),
    "says-nothing-once": Bad("say", _says(" \n"), once=True),
    "prose-for-json": Bad("understand", _says(_PROSE), told=_NO_ANSWER),
    "prose-for-json-once": Bad("understand", _says(_PROSE), once=True),
    "prose-for-a-choice": Bad("choose", _says("That depends on whom you ask."), told=_NO_ANSWER),
    "json-for-words": Bad("say", _says(_JSON), told=_NO_ANSWER),
    "json-for-words-once": Bad("say", _says(_JSON), once=True),
    "code-for-words-once": Bad("say", _says(_CODE), once=True),
    "words-in-json": Bad("say", lambda good: Reply(re.sub(r"(?m)^\[(\d)\] (.*)", r'[\1] {"message": "\2"}', good))),
    "other-labels": Bad("say", lambda good: Reply(re.sub(r"(?m)^\[(\d)\]", r"[\g<1>7]", good)), once=True),
    "repeats-words": Bad("say", lambda good: Reply(f"{good}\n{good}")),
    "repeats-json": Bad("understand", lambda good: Reply(f"{good}\n{good}")),
    "answers-everything": Bad("understand", lambda good: Reply(f"{good}\n[2] That is not for me to say. Your name?")),
    "fenced-reply": Bad("say", lambda good: Reply(f"```\n{good}\n```")),
    "fenced-answers": Bad("say", lambda good: Reply(re.sub(r"(?m)^(\[\d\]) (.*)", r"\1 ```\n\2\n```", good))),
    "fenced-json": Bad("understand", lambda good: Reply(re.sub(r"(?m)^(\[\d\]) (.*)", r"\1 ```json\n\2\n```", good))),
    "claims-a-call": Bad(
        "understand",
        lambda good: Reply(f'{good}\nI have called Reserve(name="Ada"): it gave row 9, seat 99.'),
        once=True,
    ),
    "endless-json": Bad("understand", lambda _: Reply('[1] {"name": "' + _ENDLESS, chunk_chars=4000), told=_NO_ANSWER),
    "endless-words": Bad("say", lambda _: Reply("[1] " + _ENDLESS, chunk_chars=4000), once=True),
}
"""The models."""


@dataclass
class Suffered:
    """What a person saw: `before` writing once more, and `after`."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The kinds of what its model was asked."""
    problem: str = ""


def _answer(request: Mapping[str, Any], suffered: dict[str, Suffered]) -> Reply:
    prompt = Prompt.read(request["messages"])
    good = Answers(_RULES).reply(prompt)
    found = re.search(r"greetings from ([\w-]+)", prompt.asked)
    if found is None or "once more" in json.dumps(request["messages"]):
        return Reply(good)
    bad, asked = BAD[found[1]], suffered[found[1]].asked
    kind = prompt.questions[0].kind
    asked.append(kind)
    if bad.at not in ("", kind) or (bad.once and asked.count(kind) > 1):
        return Reply(good)
    return bad.reply(good)


async def suffer(directory: Path) -> dict[str, Suffered]:
    """Talk with all of them at once, in a room each."""
    suffered = {name: Suffered() for name in BAD}
    async with OpenAIServer(lambda request: _answer(request, suffered)) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(directory),
            "PARLEY_REPORTS__ASK_MODEL": "false",  # what is asked here is asked by the program
        }
        async with (
            gateway(directory, BOOTH, environment) as running,
            AsyncExitStack() as stack,
            anyio.create_task_group() as tasks,
        ):
            for number, name in enumerate(BAD):
                room = Room(await stack.enter_async_context(running.page(f"Ada {number % 8}")), name)
                await room.open()
                tasks.start_soon(_talk, name, room, suffered[name])
    return suffered


async def _talk(name: str, room: Room, suffered: Suffered) -> None:
    def shown() -> list[str]:
        ordered = sorted(room.messages.values(), key=lambda message: message["seq"])
        return [one["text"] for one in ordered if one["kind"] != "person" and not one["text"].endswith("this room.")]

    def seen(count: int) -> bool:
        """So much can be seen, finished; or the person is told that it does not go on."""
        growing = any(message["live"] for message in room.messages.values())
        parts = sum(text.startswith(_ENDLESS[:20]) for text in room.texts())  # of one message
        messages = len(room.texts()) - max(0, parts - 1)
        return not growing and (messages >= count or any(text.startswith("⚠") for text in shown()))

    try:
        for count, says in ((2, f"greetings from {name}"), (3, ANSWERS[0]), (5, ANSWERS[1])):
            await room.say(says)
            await room.until_that(lambda count=count: seen(count))  # type: ignore[misc]
            if shown()[-1].startswith("⚠"):
                break
        suffered.before = shown()
        if BAD[name].told:
            await room.say("once more")
            await room.until_that(lambda: shown()[-1] == SECOND)
            suffered.after = shown()
    except AssertionError as error:
        suffered.problem = str(error)
