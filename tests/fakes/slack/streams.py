"""chat.startStream, appendStream and stopStream: from the documented contract, and what is reported of their ends."""

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.clock import Clock
from tests.fakes.slack.conversations import Conversations, Posted
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.text import MAX_MARKDOWN_CHARS, check_blocks, markdown_pings

STREAM_LASTS_S = 300.0
"""After about so long a stream is dead, however much is appended (python-slack-sdk#1859)."""


CHUNKS = {
    "markdown_text": (frozenset({"text"}), frozenset[str]()),
    "task_update": (
        frozenset({"id", "title"}),
        frozenset({"status", "details", "output", "sources", "hide_title", "icon"}),
    ),
    "plan_update": (frozenset({"title"}), frozenset[str]()),
    "blocks": (frozenset({"blocks"}), frozenset[str]()),
}
"""By type: what must stand in a chunk, and what may."""


class Streams:
    """Streaming messages by their time stamp."""

    def __init__(self, conversations: Conversations, clock: Clock) -> None:
        self._conversations = conversations
        self._clock = clock
        self._ends_at_s: dict[str, float] = {}
        self.on_stop: Callable[[str, str | None, str], None] = lambda _channel, _thread, _status: None
        """Told which status the thread's session has then."""
        self.refuses_tasks = False
        """Whether this workspace takes no task cards and no plans."""

    def start(self, params: Mapping[str, Any], *, own_names: bool) -> dict[str, Any]:
        channel = self._conversations.channel(params, to_write=True)
        if channel.id[0] == "D" and not params.get("thread_ts"):  # in channels a stream may stand outside of threads
            raise Refusal("invalid_arguments")
        if channel.id[0] != "D" and not (params.get("recipient_user_id") and params.get("recipient_team_id")):
            raise Refusal("missing_recipient_user_id")
        if params.get("task_display_mode", "timeline") not in ("timeline", "plan"):
            raise Refusal("invalid_arguments")
        text = _added("", params)
        self._check_kinds(params)
        posted = self._conversations.add(channel, text, [], params, own_names=own_names)
        posted.pings += markdown_pings(text)
        _show_tasks(posted, params)
        posted.streaming = True
        self._ends_at_s[posted.ts] = self._clock.monotonic() + STREAM_LASTS_S
        return {"channel": channel.id, "ts": posted.ts}

    def append(self, params: Mapping[str, Any]) -> dict[str, Any]:
        posted = self._live(params)
        if not (params.get("markdown_text") or params.get("chunks")):
            raise Refusal("no_text")
        self._check_kinds(params)
        posted.text = _added(posted.text, params)
        posted.pings = markdown_pings(posted.text)
        _show_tasks(posted, params)
        posted.history.append(posted.text)
        return {"channel": params["channel"], "ts": posted.ts}

    def stop_all(self, channel: str, thread: str) -> list[str]:
        """Slack itself stops the streams of a thread, when a person presses its stop button."""
        found = [m for m in self._conversations.open(channel).messages if m.streaming and m.thread_ts == thread]
        for posted in found:
            posted.streaming = False
        return [posted.ts for posted in found]

    def stop(self, params: Mapping[str, Any]) -> dict[str, Any]:
        posted = self._live(params)
        blocks = params.get("blocks") or []
        check_blocks(blocks)
        self._conversations.check_kinds(blocks)
        posted.text = _added(posted.text, params)
        posted.history.append(posted.text)
        posted.pings = markdown_pings(posted.text)
        _show_tasks(posted, params)
        posted.streaming, posted.blocks = False, blocks
        posted.metadata = params.get("metadata", posted.metadata)
        status = params.get("session_status") or "active"
        if status not in ("active", "processing", "suspended", "closed"):
            raise Refusal("invalid_arguments")
        self.on_stop(params["channel"], posted.thread_ts, status)
        return {"channel": params["channel"], "ts": posted.ts}

    def _check_kinds(self, params: Mapping[str, Any]) -> None:
        kinds = {chunk.get("type") for chunk in params.get("chunks") or []}
        if self.refuses_tasks and kinds & {"task_update", "plan_update"}:
            raise Refusal("invalid_chunks")

    def _live(self, params: Mapping[str, Any]) -> Posted:
        channel = self._conversations.channel(params, to_write=True)
        posted = self._conversations.find(channel, params.get("ts"))
        if posted is None:
            raise Refusal("message_not_found")
        if self._clock.monotonic() >= self._ends_at_s.get(posted.ts, 0.0):
            posted.streaming = False
        if not posted.streaming:
            raise Refusal("message_not_in_streaming_state")
        return posted


def _show_tasks(posted: Posted, params: Mapping[str, Any]) -> None:
    for chunk in params.get("chunks") or []:
        _check(chunk)
        if chunk["type"] == "plan_update":
            posted.plan = chunk["title"]
        if chunk["type"] == "task_update":
            known = next((task for task in posted.tasks if task["id"] == chunk["id"]), None)
            if known is None:
                posted.tasks.append(dict(chunk))
            else:
                known.update(chunk)


def _check(chunk: Mapping[str, Any]) -> None:
    """What a chunk must have and may have (docs.slack.dev, chat.appendStream, chunks)."""
    needed, more = CHUNKS.get(str(chunk.get("type")), (frozenset({"no such type"}), frozenset()))
    given = frozenset(chunk) - {"type"}
    if not needed <= given <= needed | more:
        raise Refusal("invalid_chunks")
    if chunk["type"] == "blocks":
        check_blocks(chunk["blocks"])
        return
    if not all(isinstance(chunk[name], str) for name in needed):
        raise Refusal("invalid_chunks")
    if chunk["type"] != "markdown_text" and not chunk["title"]:
        raise Refusal("invalid_chunks")
    if chunk.get("status", "pending") not in ("pending", "in_progress", "complete", "error"):
        raise Refusal("invalid_chunks")


def _added(text: str, params: Mapping[str, Any]) -> str:
    chunks = [chunk["text"] for chunk in params.get("chunks") or [] if chunk.get("type") == "markdown_text"]
    new = "".join([params.get("markdown_text") or "", *chunks])
    if len(new) > MAX_MARKDOWN_CHARS or len(text) + len(new) > MAX_MARKDOWN_CHARS:
        raise Refusal("msg_too_long")
    return text + new
