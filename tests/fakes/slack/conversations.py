"""The conversations of a workspace and what is in them. Methods raise Refusal with Slack's names of errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from runtime.core.clock import Clock
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.text import content, pings, rows_of

TEAM = "T0001"
BOT_USER = "U0BOT"
BOT_ID = "B0BOT"
APP_ID = "A0001"


class Posted(Struct):
    """A message. `history` has every text it showed; `pings` whom it notified."""

    ts: str
    user: str
    text: str
    blocks: list[dict[str, Any]] = field(default_factory=list)
    thread_ts: str | None = None
    bot: bool = False
    username: str | None = None
    icon_emoji: str | None = None
    metadata: dict[str, Any] | None = None
    reactions: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    pings: list[str] = field(default_factory=list)
    brought: dict[str, Any] = field(default_factory=dict)
    """A person's files and cards, as Slack tells them."""
    streaming: bool = False
    tasks: list[dict[str, Any]] = field(default_factory=list)
    plan: str | None = None
    file: str | None = None

    @property
    def shown(self) -> str:
        """What people read."""
        shown = (block["text"]["text"] if "text" in block else _table(block) for block in self.blocks)
        return "\n".join(filter(None, shown)) or self.text

    def data(self, *, with_metadata: bool = False) -> dict[str, Any]:
        """As the Web API gives it."""
        told: dict[str, Any] = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts, "team": TEAM}
        if self.bot:
            told |= {"bot_id": BOT_ID, "app_id": APP_ID}
        if self.blocks:
            told["blocks"] = self.blocks
        if self.username is not None:
            told["username"] = self.username
        if self.thread_ts is not None:
            told["thread_ts"] = self.thread_ts
        told |= self.brought
        if with_metadata and self.metadata is not None:
            told["metadata"] = self.metadata
        return told


def _table(block: Mapping[str, Any]) -> str:
    return rows_of(block) if block["type"] == "table" else ""


class Channel(Struct):
    id: str
    member: bool = True
    team: str = TEAM
    visible: bool = True
    archived: bool = False
    messages: list[Posted] = field(default_factory=list)
    statuses: dict[str, tuple[str, float]] = field(default_factory=dict)


STATUS_LASTS_S = 120.0


class Conversations:
    """All channels and conversations between two."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._channels: dict[str, Channel] = {}
        self.team = TEAM
        self.shortens_to: int | None = None
        self.loses_threads = False
        self._newest_us = 0
        self.page_limit = 1000
        self.unknown_blocks: set[str] = set()
        """The types of blocks that this workspace does not have yet."""

    def open(self, channel: str, *, member: bool = True, team: str = TEAM) -> Channel:
        return self._channels.setdefault(channel, Channel(channel, member, team))

    def next_ts(self) -> str:
        """A time stamp that no message has: seconds with six digits."""
        self._newest_us = max(self._newest_us + 1, int(self._clock.now().timestamp() * 1_000_000))
        return f"{self._newest_us // 1_000_000}.{self._newest_us % 1_000_000:06d}"

    def channel(self, params: Mapping[str, Any], *, to_write: bool = False, name: str = "channel") -> Channel:
        channel = self._channels.get(params.get(name, ""))
        if channel is None or not channel.visible or channel.team != self.team:
            raise Refusal("channel_not_found")
        if not channel.member:
            raise Refusal("not_in_channel")
        if to_write and channel.archived:
            raise Refusal("is_archived")
        return channel

    def info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """conversations.info. A public channel is told to all; a private one that the app is not in is not there."""
        channel = self._channels.get(params.get("channel", ""))
        if channel is None or not channel.visible or channel.team != self.team:
            raise Refusal("channel_not_found")
        return {"channel": {"id": channel.id, "name": channel.id[2:].casefold(), "is_member": channel.member}}

    def find(self, channel: Channel, ts: Any) -> Posted | None:
        return next((message for message in channel.messages if message.ts == ts), None)

    def post(self, params: Mapping[str, Any], *, own_names: bool) -> dict[str, Any]:
        """chat.postMessage. Where the app may not choose names, they are passed over without a word."""
        channel = self.channel(params, to_write=True)
        text, blocks = content(params, update=False)
        self.check_kinds(blocks)
        posted = self.add(channel, text, blocks, params, own_names=own_names)
        posted.pings = pings(params, update=False)
        return {"channel": channel.id, "ts": posted.ts, "message": posted.data()}

    def add(
        self,
        channel: Channel,
        text: str,
        blocks: list[dict[str, Any]],
        params: Mapping[str, Any],
        *,
        own_names: bool = True,
    ) -> Posted:
        """Keep a message of the app's. It takes a status of its thread away."""
        thread_ts = None if self.loses_threads else params.get("thread_ts")
        blocks = self._shortened(blocks)
        if thread_ts is not None and self.find(channel, thread_ts) is None:
            raise Refusal("thread_not_found")
        posted = Posted(self.next_ts(), BOT_USER, text, blocks, thread_ts, bot=True, metadata=params.get("metadata"))
        if own_names:
            posted.username, posted.icon_emoji = params.get("username"), params.get("icon_emoji")
        posted.history.append(posted.shown)
        channel.messages.append(posted)
        channel.statuses.pop(thread_ts or "", None)
        return posted

    def update(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel, posted = self._own(params, "cant_update_message")
        if posted.streaming:
            raise Refusal("streaming_state_conflict")
        text, blocks = content(params, update=True)
        self.check_kinds(blocks)
        posted.text, posted.blocks = text, self._shortened(blocks)
        posted.metadata = params.get("metadata", posted.metadata)
        posted.pings += pings(params, update=True)
        posted.history.append(posted.shown)
        return {"channel": channel.id, "ts": posted.ts, "text": posted.text, "message": posted.data()}

    def delete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel, posted = self._own(params, "cant_delete_message")
        channel.messages.remove(posted)
        return {"channel": channel.id, "ts": posted.ts}

    def permalink(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channel(params)
        if self.find(channel, params.get("message_ts")) is None:
            raise Refusal("message_not_found")
        number = params["message_ts"].replace(".", "")
        return {"channel": channel.id, "permalink": f"https://engines.slack.example/archives/{channel.id}/p{number}"}

    def replies(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A thread, oldest first; its root is always there."""
        channel = self.channel(params)
        root = self.find(channel, params.get("ts"))
        if root is None:
            raise Refusal("thread_not_found")
        inside = [m for m in channel.messages if m.thread_ts == root.ts and m.ts > (params.get("oldest") or "")]
        return self._page([root, *inside], channel, params)

    def history(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What is outside of threads, newest first."""
        channel = self.channel(params)
        outside = [m for m in channel.messages if m.thread_ts is None and m.ts > (params.get("oldest") or "")]
        return self._page(outside[::-1], channel, params)

    def react(self, params: Mapping[str, Any]) -> dict[str, Any]:
        posted = self.find(self.channel(params, to_write=True), params.get("timestamp"))
        if posted is None:
            raise Refusal("message_not_found")
        if params["name"] in posted.reactions:
            raise Refusal("already_reacted")
        posted.reactions.append(params["name"])
        return {}

    def take_back(self, params: Mapping[str, Any]) -> dict[str, Any]:
        posted = self.find(self.channel(params, to_write=True), params.get("timestamp"))
        if posted is None:
            raise Refusal("message_not_found")
        if params["name"] not in posted.reactions:
            raise Refusal("no_reaction")
        posted.reactions.remove(params["name"])
        return {}

    def reactions(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channel(params)
        posted = self.find(channel, params.get("timestamp"))
        if posted is None:
            raise Refusal("message_not_found")
        return {"type": "message", "channel": channel.id, "message": posted.data()}

    def set_status(self, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channel(params, to_write=True, name="channel_id")
        if self.find(channel, params.get("thread_ts")) is None:
            raise Refusal("thread_not_found")
        channel.statuses[params["thread_ts"]] = (params["status"], self._clock.monotonic() + STATUS_LASTS_S)
        return {}

    def status(self, channel: str, thread: str) -> str:
        """What is shown under the thread now."""
        text, until_s = self._channels[channel].statuses.get(thread, ("", 0.0))
        return text if self._clock.monotonic() < until_s else ""

    def listed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """users.conversations: those that the bot is in, of all kinds, oldest first."""
        start, limit = int(params.get("cursor") or 0), min(int(params.get("limit") or 100), 1000)
        found = [c for c in self._channels.values() if c.member and c.team == self.team and not c.archived]
        cursor = str(start + limit) if start + limit < len(found) else ""
        channels = [{"id": channel.id} for channel in found[start : start + limit]]
        return {"channels": channels, "response_metadata": {"next_cursor": cursor}}

    def _page(self, messages: Sequence[Posted], channel: Channel, params: Mapping[str, Any]) -> dict[str, Any]:
        start, limit = int(params.get("cursor") or 0), min(int(params.get("limit") or 100), self.page_limit)
        more = start + limit < len(messages)
        with_metadata = bool(params.get("include_all_metadata"))
        found = [
            m.data(with_metadata=with_metadata) | _thread_below(m, channel) for m in messages[start : start + limit]
        ]
        cursor = str(start + limit) if more else ""
        return {"messages": found, "has_more": more, "response_metadata": {"next_cursor": cursor}}

    def _shortened(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What becomes of blocks where Slack takes less than it was given."""
        if self.shortens_to is None:
            return blocks
        return [
            b | {"text": b["text"] | {"text": b["text"]["text"][: self.shortens_to]}} if "text" in b else b
            for b in blocks
        ]

    def check_kinds(self, blocks: Sequence[Mapping[str, Any]]) -> None:
        if any(block["type"] in self.unknown_blocks for block in blocks):
            raise Refusal("invalid_blocks")

    def _own(self, params: Mapping[str, Any], error: str) -> tuple[Channel, Posted]:
        channel = self.channel(params, to_write=True)
        posted = self.find(channel, params.get("ts"))
        if posted is None:
            raise Refusal("message_not_found")
        if not posted.bot:
            raise Refusal(error)
        return channel, posted


def _thread_below(root: Posted, channel: Channel) -> dict[str, Any]:
    """What is told of the thread below a message."""
    replies = [message for message in channel.messages if message.thread_ts == root.ts]
    if not replies:
        return {}
    return {"thread_ts": root.ts, "reply_count": len(replies), "latest_reply": replies[-1].ts}
