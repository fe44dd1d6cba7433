"""Whatever Slack sends or answers ends no connection, and costs only itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from adapters.adapter import HttpRequest, Inbound
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.protocols.malformed import WRONG, check_types, malformed
from tests.fakes.slack.http import request as signed
from tests.fakes.slack.people import CHANNEL, DIRECT
from tests.fakes.slack.platform import BOT_TOKEN, SIGNING_SECRET, SlackPlatform

pytestmark = pytest.mark.anyio

Act = Callable[[SlackPlatform], object]

ACTS: dict[str, Act] = {
    "a message": lambda platform: platform.say("hello", channel=DIRECT),
    "a mention": lambda platform: platform.mention("hello"),
    "an edit": lambda platform: platform.rewrite(platform.say("one"), "two"),
    "a deletion": lambda platform: platform.remove(platform.say("one")),
    "a mark": lambda platform: platform.react("+1", platform.say("one")),
    "a command": lambda platform: platform.command("status"),
    "a beginning": lambda platform: platform.command("tell me more"),
    "an opened app": lambda platform: platform.open_app(),
    "an opened assistant": lambda platform: platform.open_assistant(),
    "a stop": lambda platform: platform.stop("1.000000"),
}


def payloads(act: Act) -> list[tuple[str, dict[str, Any]]]:
    """The kinds and bodies of what Slack sends of an act."""
    platform = SlackPlatform(clock=FakeClock())
    platform.surfaces.sessions[f"{CHANNEL}/1.000000"] = "processing"
    platform.surfaces.agent_view = act is not ACTS["an opened assistant"]
    act(platform)
    return [(event.kind, event.body) for event in platform.events.events.values()]


def as_another(wrong: Any, good: Any, number: int) -> Any:
    """The body as that of another delivery, where what names it was left as it was."""
    for name, value in (("event_id", f"Ev{number}"), ("ts", f"{number + 1000}.000100"), ("trigger_id", f"t{number}")):
        if isinstance(wrong, dict) and name in wrong and wrong[name] == good.get(name):
            wrong = {**wrong, name: value}
    if isinstance(wrong, dict) and isinstance(good.get("event"), dict):
        wrong = {**wrong, "event": as_another(wrong.get("event"), good["event"], number)}
    return wrong


async def until_after(adapter: SlackAdapter, platform: SlackPlatform, put: Callable[[], None]) -> None:
    """Send malformed things, and hear what is said after them."""
    async with adapter.connect() as inbound:
        put()
        platform.say("after", channel=DIRECT)
        with anyio.fail_after(120):
            while (item := await anext(inbound)).text != "after":
                check_types(item)


@pytest.mark.parametrize("act", ACTS)
async def test_a_delivery_of_any_form_ends_nothing(adapter: SlackAdapter, platform: SlackPlatform, act: str) -> None:
    def put() -> None:
        for kind, body in payloads(ACTS[act]):
            for number, wrong in enumerate(malformed({"type": kind, "body": body})):
                platform.events.put_payload(wrong.get("type", kind), as_another(wrong.get("body", body), body, number))

    await until_after(adapter, platform, put)


FEW: tuple[Any, ...] = (None, [], {"a": {"b": []}}, 7)
"""What is tried in each place of a request, as what is in it is read in one way for all ways that it comes."""


@pytest.mark.parametrize("act", ACTS)
async def test_a_request_of_any_form_is_answered_and_ends_nothing(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, act: str
) -> None:
    keys = SlackKeys(bot_token=BOT_TOKEN, signing_secret=SIGNING_SECRET)
    statuses, together = list[int](), anyio.CapacityLimiter(20)
    async with aclosing(SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)) as hooked:

        async def ask(kind: str, body: Any) -> None:
            headers, raw = signed(clock, kind, body)
            async with together:
                statuses.append((await hooked.receive(HttpRequest("POST", "/events", {}, headers, raw))).status)

        async def hear(inbound: AsyncIterator[Inbound]) -> None:
            async for item in inbound:
                check_types(item)

        async with hooked.connect() as inbound, anyio.create_task_group() as hearing:
            hearing.start_soon(hear, inbound)
            with anyio.fail_after(120):
                async with anyio.create_task_group() as asking:
                    for kind, body in payloads(ACTS[act]):
                        forms = kind not in ("events_api", "interactive")
                        whole = [one for one in WRONG if not forms or isinstance(one, dict)]
                        for number, wrong in enumerate([*whole, *malformed(body, FEW)]):
                            asking.start_soon(ask, kind, as_another(wrong, body, number))
                platform.say("after", channel=DIRECT)
                await ask("events_api", [event.body for event in platform.events.events.values()][-1])
            hearing.cancel_scope.cancel()
    assert set(statuses) <= {200, 400, 503}  # 503 asks for it again
    assert statuses[-1] == 200


ANSWERED: dict[str, tuple[Act, list[str]]] = {
    "a beginning": (lambda platform: platform.command("tell me more"), ["chat.postMessage"]),
    "an empty command": (lambda platform: platform.command(""), ["views.open"]),
    "a thread of others": (
        lambda platform: platform.say("yes", thread=platform.say("lunch?")),
        ["conversations.replies", "users.info"],
    ),
    "a mark": (lambda platform: platform.react("+1", platform.say("one")), ["reactions.get"]),
    "an opened app": (lambda platform: platform.open_app(), ["assistant.threads.setSuggestedPrompts"]),
    "a new thread": (lambda platform: platform.say("hi", channel=DIRECT), ["assistant.threads.setTitle"]),
}
REFUSALS = ("invalid_blocks", "no_text", "message_not_found", "channel_not_found", "not_in_channel", "missing_scope")
UNKNOWN = ("msg_too_long", "streaming_state_conflict", "something_new", "invalid_auth", "")


@pytest.mark.parametrize("error", [*REFUSALS, *UNKNOWN])
@pytest.mark.parametrize("act", ANSWERED)
async def test_an_answer_of_any_kind_ends_nothing(
    adapter: SlackAdapter, platform: SlackPlatform, act: str, error: str
) -> None:
    do, methods = ANSWERED[act]

    def put() -> None:
        for method in methods:
            platform.fail(method, "refuse", error=error)
        do(platform)

    await until_after(adapter, platform, put)


@pytest.mark.parametrize("act", ANSWERED)
async def test_an_answer_of_the_wrong_shape_ends_nothing(
    adapter: SlackAdapter, platform: SlackPlatform, act: str
) -> None:
    do, methods = ANSWERED[act]

    def put() -> None:
        for method in methods:
            platform.fail(method, "garbage")
        do(platform)

    await until_after(adapter, platform, put)


async def test_who_gives_a_command_that_slack_cannot_show_is_told(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.fail("chat.postMessage", "refuse", error="invalid_blocks")
    event = platform.command("tell me more")
    async with adapter.connect() as inbound:
        platform.say("after", channel=DIRECT)
        assert (await anext(inbound)).text == "after"
    assert "invalid_blocks" in platform.events.events[event].words["text"]


STRANGE = [*malformed({"ts": "1.0", "user": "U1", "text": "x", "thread_ts": "1.0", "latest_reply": "2.0"})]


@pytest.mark.parametrize("messages", [[one] for one in STRANGE] + [None, {}, "x", [None], [[]]], ids=lambda _: "")
async def test_history_of_any_form_ends_nothing(
    adapter: SlackAdapter, platform: SlackPlatform, monkeypatch: pytest.MonkeyPatch, messages: object
) -> None:
    for page in ("history", "replies"):
        monkeypatch.setattr(platform.conversations, page, lambda _params: {"messages": messages})
    async with adapter.connect() as inbound:
        await platform.until(lambda: bool(platform.calls_of("conversations.history")))
        platform.say("after", channel=DIRECT)
        with anyio.fail_after(120):
            while (await anext(inbound)).text != "after":
                pass
