"""Whatever Discord sends or answers ends no connection, and costs only itself."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from tests.contract.discord.speaking import listening, new_adapter
from tests.fakes.clock import HastyClock
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.protocols.malformed import check_types, malformed

pytestmark = pytest.mark.anyio

WRONG: tuple[Any, ...] = (None, [], {}, -1e300, "", True, [[]], {"a": {"b": []}}, "x" * 5_000, "\ud800")

Act = Callable[[DiscordPlatform], object]


def in_a_server(platform: DiscordPlatform) -> None:
    platform.gateway.emit("GUILD_CREATE", next(iter(platform.gateway.sessions.values())).frames[1]["d"])


def a_reply(platform: DiscordPlatform) -> None:
    platform.world.say(f"<@{platform.world.bot}> yes", reply_to=platform.world.say("lunch?"))


def an_edit(platform: DiscordPlatform) -> None:
    platform.world.people.change(platform.world.general, platform.world.say("one"), "two")


def a_deletion(platform: DiscordPlatform) -> None:
    platform.world.people.take_back(platform.world.general, platform.world.say("one"))


def a_mark(platform: DiscordPlatform) -> None:
    platform.world.people.mark(platform.world.ada, platform.world.general, platform.world.say("one"), "👍")


def a_press(platform: DiscordPlatform) -> None:
    button = {"type": 2, "style": 2, "label": "Yes", "custom_id": "p.0"}
    row = [{"type": 1, "components": [button]}]
    message = platform.world.say("Agreed?")
    platform.world.backend.get_message(int(platform.world.general), int(message)).components = row
    platform.world.press(platform.world.general, message, "Yes")


ACTS: dict[str, Act] = {
    "a message": lambda platform: platform.world.say("hello", platform.world.private()),
    "a file": lambda platform: platform.world.say("look", files=[("a.txt", b"a")]),
    "a reply": a_reply,
    "an edit": an_edit,
    "a deletion": a_deletion,
    "a mark": a_mark,
    "a press": a_press,
    "a command": lambda platform: platform.world.choose("status", text="all"),
    "a beginning": lambda platform: platform.world.people.session(
        platform.world.ada, platform.world.general, "start", topic="tea"
    ),
    "an invitation": lambda platform: platform.world.people.session(
        platform.world.ada, platform.world.general, "invite", person=str(platform.world.bob.id)
    ),
    "a server": in_a_server,
}


def sent_of(platform: DiscordPlatform, act: Act) -> tuple[str, dict[str, Any]]:
    """The last event that Discord sends of an act, and its name."""
    seen: list[tuple[str, Any]] = []
    note = lambda event, payload: seen.append((event, copy.deepcopy(payload)))  # noqa: E731
    platform.world.backend.subscribers.append(note)
    act(platform)
    platform.world.backend.subscribers.remove(note)
    if not seen:
        frame = next(iter(platform.gateway.sessions.values())).frames[-1]
        seen.append((frame["t"], frame["d"]))
    return seen[-1]


async def until_after(inbound: AsyncIterator[Inbound], platform: DiscordPlatform) -> None:
    """Hear what is said after malformed things, over the same connection; what was heard before has its types."""
    platform.world.say("after")
    with anyio.fail_after(120):
        while (item := await anext(inbound)).text != "after":
            check_types(item)
    assert platform.gateway.identified == 1


@pytest.mark.parametrize("act", ACTS)
async def test_an_event_of_any_form_ends_nothing(adapter: DiscordAdapter, platform: DiscordPlatform, act: str) -> None:
    async with listening(adapter, platform) as inbound:
        name, good = sent_of(platform, ACTS[act])
        (session,) = platform.gateway.sessions.values()
        for wrong in malformed({"d": good}, WRONG):
            session.push(name, wrong.get("d"))
        await until_after(inbound, platform)


ANSWERED: dict[str, tuple[Act, list[str]]] = {
    "a thread of others": (lambda platform: platform.world.say("yes", platform.world.thread("lunch")), ["channel"]),
    "a command": (lambda platform: platform.world.choose("status"), ["respond", "complete"]),
    "a beginning": (ACTS["a beginning"], ["open_thread", "join", "respond"]),
    "an invitation": (ACTS["an invitation"], ["add", "respond"]),
}
ANSWERS = [*malformed({"d": {"id": "1", "type": 11, "parent_id": "2", "member": {}}}, (None, [], {}, 7, "x", [[]]))]


@pytest.mark.parametrize("act", ANSWERED)
async def test_an_answer_of_any_form_ends_nothing(
    options: DiscordOptions, platform: DiscordPlatform, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    do, operations = ANSWERED[act]
    rightly = platform.world.answer
    answers: Iterator[dict[str, Any]] = iter(ANSWERS)

    def answer(operation: str, *given: Any) -> Any:
        return next(answers, {"d": 0}).get("d") if operation in operations else rightly(operation, *given)

    async with aclosing(new_adapter(options, clock=HastyClock())) as adapter, listening(adapter, platform) as inbound:
        monkeypatch.setattr(platform.world, "answer", answer)
        for _ in ANSWERS:
            do(platform)
        await until_after(inbound, platform)


@pytest.mark.parametrize("code", [0, 10003, 10008, 20028, 50001, 50083, 160004])
@pytest.mark.parametrize("act", ANSWERED)
async def test_a_refusal_of_any_kind_ends_nothing(
    options: DiscordOptions, platform: DiscordPlatform, act: str, code: int
) -> None:
    do, operations = ANSWERED[act]
    async with aclosing(new_adapter(options, clock=HastyClock())) as adapter, listening(adapter, platform) as inbound:
        for operation in operations:
            platform.fail(operation, "refuse", code=code, times=50)
        do(platform)
        await until_after(inbound, platform)


MESSAGE = {"id": "1", "type": 0, "author": {"id": "2"}, "content": "x", "timestamp": "2026-01-01", "channel_id": "3"}


@pytest.mark.parametrize("page", [[*malformed(MESSAGE, WRONG)], None, {}, "x", [None], [[]]], ids=lambda _: "")
async def test_history_of_any_form_ends_nothing(
    options: DiscordOptions, platform: DiscordPlatform, page: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    rightly, marks = platform.world.answer, MemoryRecords()

    def answer(operation: str, *given: Any) -> Any:
        return page if operation == "history" else rightly(operation, *given)

    monkeypatch.setattr(platform.world, "answer", answer)
    platform.world.say("missed")
    marks.records[platform.world.general] = "1"
    async with (
        aclosing(new_adapter(options, marks, clock=HastyClock())) as adapter,
        listening(adapter, platform) as inbound,
    ):
        await until_after(inbound, platform)
