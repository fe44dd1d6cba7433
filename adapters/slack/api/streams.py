"""Slack's native streams: chat.startStream, chat.appendStream, chat.stopStream (docs.slack.dev, chat.startStream)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from adapters.slack.api.calls import SlackCalls, told
from adapters.slack.api.web import nonce_data, under_name
from adapters.slack.codec.addresses import AuthorFace


class StreamReader(Struct, frozen=True):
    """The reader of a stream in a channel, and that person's workspace."""

    user: str
    team: str


Doing: TypeAlias = Mapping[str, Any]
"""An activity of an agent, or the title above them, as a chunk of its stream."""


def plan_chunk(title: str) -> Doing:
    return {"type": "plan_update", "title": title}


def task_chunk(id_: str, title: str, *, done: bool = False) -> Doing:
    """An activity; the same id replaces it."""
    return {"type": "task_update", "id": id_, "title": title, "status": "complete" if done else "in_progress"}


class StreamEnd(Struct, frozen=True):
    """What a stream ends with. `works_on`: its agent goes on; else Slack takes the stop button away."""

    works_on: bool
    doings: Sequence[Doing]
    blocks: Sequence[Mapping[str, Any]] = ()


class StreamApi(Struct, frozen=True):
    """The stream calls of one bot. StreamOver where a stream takes no more text or none is available."""

    _calls: SlackCalls

    async def start(
        self,
        channel: str,
        thread: str,
        text: str,
        face: AuthorFace | None,
        recipient: StreamReader | None,
        doings: Sequence[Doing] = (),
    ) -> str:
        """Start a stream; returns the message's time stamp. Activities appear together, not within the text."""
        with self._calls.call("chat.startStream", streaming=True):
            answer = await self._calls.client.chat_startStream(
                channel=channel,
                thread_ts=thread,
                task_display_mode="plan",
                recipient_user_id=None if recipient is None else recipient.user,
                recipient_team_id=None if recipient is None else recipient.team,
                **under_name(face),
                **_content(text, doings),
            )
            return told(answer, "ts")

    async def append(self, channel: str, message: str, text: str, doings: Sequence[Doing] = ()) -> None:
        with self._calls.call("chat.appendStream", streaming=True):
            await self._calls.client.chat_appendStream(channel=channel, ts=message, **_content(text, doings))

    async def stop(self, channel: str, message: str, text: str, nonce: str, end: StreamEnd) -> None:
        """Append the end and close; from now on the message carries its nonce."""
        with self._calls.call("chat.stopStream", streaming=True):
            await self._calls.client.chat_stopStream(
                channel=channel,
                ts=message,
                metadata=nonce_data(nonce),
                blocks=list(end.blocks) or None,  # type: ignore[arg-type]
                session_status="processing" if end.works_on else None,
                **_content(text, end.doings),
            )


def _content(text: str, doings: Sequence[Doing]) -> dict[str, Any]:
    if not doings:
        return {"markdown_text": text or None}
    told_text = [{"type": "markdown_text", "text": text}] if text else []
    return {"chunks": [*told_text, *doings]}
