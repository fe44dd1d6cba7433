"""Slack as an app in one workspace sees it, in memory: people who write, events, faults, and what is visible.

The HTTP and WebSocket side is `slack_server`. Tests hold a `SlackPlatform`, do with it what people do, and look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio

from runtime.core.clock import Clock, SystemClock
from tests.fakes.slack_conversations import BOT_ID, BOT_USER, TEAM, Conversations, Posted
from tests.fakes.slack_events import EventQueue
from tests.fakes.slack_limits import RateLimits
from tests.fakes.slack_refusal import Refusal, too_many_requests
from tests.fakes.slack_streams import Streams

BOT_TOKEN = "xoxb-1-test"
APP_TOKEN = "xapp-1-test"
PERSON = "U0ADA"
FRIEND = "U0BOB"
CHANNEL = "C0GENERAL"
DIRECT = "D0ADA"
NAMES: Mapping[str, str] = {PERSON: "Ada Lovelace", FRIEND: "Bob", BOT_USER: "parley"}
SCOPES = (
    "channels:history channels:read chat:write chat:write.customize groups:history im:history mpim:history "
    "reactions:write users:read"
)
NEEDS: Mapping[str, str] = {
    "assistant.threads.setStatus": "chat:write",
    "chat.appendStream": "chat:write",
    "chat.delete": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.startStream": "chat:write",
    "chat.stopStream": "chat:write",
    "chat.update": "chat:write",
    "conversations.history": "channels:history",
    "conversations.info": "channels:read",
    "conversations.replies": "channels:history",
    "reactions.add": "reactions:write",
    "users.info": "users:read",
}

FaultKind = Literal["bad_gateway", "drop", "flood", "garbage", "hang", "refuse"]


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` calls of `method`; `applied` says whether they take effect all the same.

    bad_gateway: HTTP 502 · drop: the connection breaks within the answer · hang: no answer until the client gives up ·
    flood: 429 with `retry_after` · garbage: a result of the wrong shape · refuse: `error`, with the keys of `more`.
    """

    method: str
    kind: FaultKind
    times: int = 1
    applied: bool = False
    retry_after: int = 3
    error: str = "fatal_error"
    more: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was answered; status 0 where it got no answer on purpose. `at_s` is the clock's monotonic time."""

    method: str
    params: Mapping[str, Any]
    at_s: float
    status: int


class SlackPlatform:
    """One workspace. `limited` says whether rate limits are enforced."""

    def __init__(self, *, clock: Clock | None = None, limited: bool = False) -> None:
        self.clock: Clock = clock or SystemClock()
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.scopes = set(SCOPES.split())
        self.names = dict(NAMES)
        self.calls: list[Call] = []
        self.closing = anyio.Event()
        self.events = EventQueue(self.clock, self.noticed)
        self.conversations = Conversations(self.clock)
        self.streams = Streams(self.conversations, self.clock)
        self.socket_address = ""
        self._limits = RateLimits(self.clock) if limited else None
        self._faults: list[Fault] = []
        self._changed = anyio.Event()
        self.conversations.open(CHANNEL)
        self.conversations.open(DIRECT)

    # What people do.

    def say(
        self, text: str, *, channel: str = CHANNEL, person: str = PERSON, thread: str | None = None, **more: Any
    ) -> str:
        """A person writes; returns the message's time stamp. `more` goes into the event as it is (`files=[…]`).

        A mention of the bot (`<@U0BOT>`) outside of direct messages is told twice, as Slack does.
        """
        place = self.conversations.open(channel)
        posted = Posted(self.conversations.next_ts(), person, text, thread_ts=thread)
        place.messages.append(posted)
        if not place.member:
            return posted.ts
        event = {
            "type": "message",
            "user": person,
            "text": text,
            "ts": posted.ts,
            "channel": channel,
            "event_ts": posted.ts,
            "channel_type": {"D": "im", "G": "mpim"}.get(channel[0], "channel"),
        }
        root = self.conversations.find(place, thread)
        if root is not None:
            event |= {"thread_ts": root.ts, "parent_user_id": root.user}
        if f"<@{BOT_USER}>" in text and channel[0] != "D":
            told = {key: value for key, value in event.items() if key != "channel_type"}
            self.events.put(told | {"type": "app_mention"})
        self.events.put(event | more)
        return posted.ts

    def mention(self, text: str, **more: Any) -> str:
        """A person addresses the bot."""
        return self.say(f"<@{BOT_USER}> {text}", **more)

    def rewrite(self, ts: str, text: str, *, channel: str = CHANNEL) -> None:
        """A person edits a message of their own."""
        posted = self._message(channel, ts)
        before, posted.text = posted.data(), text
        self.events.put(
            {"type": "message", "subtype": "message_changed", "hidden": True, "channel": channel}
            | {"message": posted.data(), "previous_message": before, "ts": self.conversations.next_ts()}
        )

    def remove(self, ts: str, *, channel: str = CHANNEL) -> None:
        """Somebody deletes a message."""
        posted = self._message(channel, ts)
        self.conversations.open(channel).messages.remove(posted)
        self.events.put(
            {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": channel, "deleted_ts": ts}
            | {"previous_message": posted.data(), "ts": self.conversations.next_ts()}
        )

    def press(self, action: str, *, channel: str = CHANNEL, person: str = PERSON) -> str:
        """A person presses a button."""
        payload = {"type": "block_actions", "user": {"id": person}, "channel": {"id": channel}}
        return self.events.put_payload("interactive", payload | {"actions": [{"action_id": action}]})

    # What the network and Slack do.

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Tell every connection that it is going to end."""
        for connection in list(self.events.connections):
            await connection.send({"type": "disconnect", "reason": reason, "debug_info": {}})

    def drop(self) -> None:
        """Break every connection without a word."""
        for connection in list(self.events.connections):
            connection.abort()

    def fail(self, method: str, kind: FaultKind, **more: Any) -> None:
        """Order a fault; the further fields of Fault are the keys."""
        self._faults.append(Fault(method, kind, **more))

    def close(self) -> None:
        self.closing.set()
        self.drop()

    # What can be seen.

    def messages(self, channel: str = CHANNEL) -> list[Posted]:
        """The app's own messages in a channel, oldest first."""
        return [message for message in self.conversations.open(channel).messages if message.bot]

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something is so."""
        while not happened():
            await self._changed.wait()

    # For the server.

    def noticed(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def record(self, method: str, params: Mapping[str, Any], status: int) -> None:
        self.calls.append(Call(method, params, self.clock.monotonic(), status))
        self.noticed()

    def take_fault(self, method: str) -> Fault | None:
        """The fault that is due for a call of the method."""
        for fault in self._faults:
            if fault.method == method:
                fault.times -= 1
                if not fault.times:
                    self._faults.remove(fault)
                return fault
        return None

    def answer(self, method: str, token: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What a call does. Raises Refusal."""
        actions = self._actions()
        if method not in actions:
            raise Refusal("unknown_method")
        self._check_token(method, token)
        if self._limits is not None:
            self._limits.take(method)
            if method == "chat.postMessage":
                self._limits.take_post(str(params.get("channel", "")))
        return actions[method](params)

    def flood(self, fault: Fault) -> Refusal:
        return too_many_requests(fault.retry_after)

    def _actions(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        own_names = "chat:write.customize" in self.scopes
        return {
            "apps.connections.open": lambda _: {"url": f"{self.socket_address}?ticket={self.events.ticket()}"},
            "assistant.threads.setStatus": self.conversations.set_status,
            "auth.test": lambda _: self._identity(),
            "chat.appendStream": self.streams.append,
            "chat.delete": self.conversations.delete,
            "chat.postMessage": lambda params: self.conversations.post(params, own_names=own_names),
            "chat.startStream": lambda params: self.streams.start(params, own_names=own_names),
            "chat.stopStream": self.streams.stop,
            "chat.update": self.conversations.update,
            "conversations.history": self.conversations.history,
            "conversations.info": self.conversations.info,
            "conversations.replies": self.conversations.replies,
            "reactions.add": self.conversations.react,
            "users.info": self._person,
        }

    def _check_token(self, method: str, token: str) -> None:
        if not token:
            raise Refusal("not_authed")
        if token not in (self.bot_token, self.app_token):
            raise Refusal("invalid_auth")
        if (token == self.app_token) != (method == "apps.connections.open"):
            raise Refusal("not_allowed_token_type")
        needed = NEEDS.get(method)
        if needed is not None and needed not in self.scopes:
            raise Refusal("missing_scope", more={"needed": needed, "provided": ",".join(sorted(self.scopes))})

    def _identity(self) -> dict[str, Any]:
        team = {"team": "Analytical Engines", "team_id": TEAM, "url": "https://engines.slack.example/"}
        return team | {"user": "parley", "user_id": BOT_USER, "bot_id": BOT_ID}

    def _person(self, params: Mapping[str, Any]) -> dict[str, Any]:
        user = params.get("user", "")
        if user not in self.names:
            raise Refusal("user_not_found")
        profile = {"display_name": self.names[user], "real_name": self.names[user]}
        return {"user": {"id": user, "team_id": TEAM, "name": user.casefold(), "profile": profile}}

    def _message(self, channel: str, ts: str) -> Posted:
        posted = self.conversations.find(self.conversations.open(channel), ts)
        assert posted is not None, f"no message {ts} in {channel}"
        return posted
