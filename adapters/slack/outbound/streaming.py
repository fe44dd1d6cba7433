"""Texts that grow on Slack by native streams, and what their speakers do meanwhile.

A stream carries no nonce until it is closed, so a beginning whose outcome is unclear is looked for by its speaker and
its text, closed, and gone on with by edits. A stream belongs to one message and one speaker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from msgspec import Struct, field

from adapters.recent import RecentValues
from adapters.slack.api.streams import Doing, StreamEnd, StreamReader, plan_chunk, task_chunk
from adapters.slack.api.web import nonce_of
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import channel_of, is_private, shown_name, team_of
from adapters.slack.codec.mentions import certain, harmless
from adapters.slack.outbound.answers import AgentIcons
from runtime.core.address import Address, Speaker
from runtime.core.errors import BadMarkup, StreamOver

MAX_OPEN: Final = 1000
"""The number of streams remembered; one that nobody closed is dead after five minutes."""
LIKENESS_CHARS: Final = 40
"""The length of the start by which a stream of unknown outcome is recognised."""
MAX_PLAN_TITLE: Final = 100
"""The number of characters shown of a plan's title; Slack names no limit."""


class SlackText(Struct, frozen=True):
    """A text to post, with its place, speaker and workspace."""

    to: Address
    text: str
    speaker: Speaker
    nonce: str
    workspace: SlackWorkspace


class OpenStream(Struct):
    """A stream that takes text: `sent` characters of what was given are shown; `planned`: it has a title."""

    conversation: str
    speaker: str
    nonce: str
    given: str = ""
    sent: int = 0
    task: tuple[str, str] | None = None
    """The id and the title of what its speaker does."""
    tasks: int = 0
    planned: bool = False

    def takes(self, text: str, team: str) -> str:
        """What can be shown now that `text` is given."""
        self.given += text
        end = max(self.sent, certain(self.given))
        shown = harmless(self.given[:end], team, self.sent)
        self.sent = end
        return shown


class Streams(Struct):
    """The open streams of this process, by their messages' time stamps."""

    _faces: AgentIcons
    _open: dict[str, OpenStream] = field(default_factory=dict)
    _plans: RecentValues[str, str] = field(default_factory=lambda: RecentValues[str, str](MAX_OPEN))

    async def open(self, said: SlackText, recipient: StreamReader | None) -> str:
        """Open a stream. Raises StreamOver where none is available: outside threads, or without a particular reader."""
        to, speaker, workspace = said.to, said.speaker, said.workspace
        if to.thread is None or not workspace.takes("streams") or not (is_private(to) or recipient):
            raise StreamOver("Slack streams only in threads, and in channels only for a person who was heard there")
        face = self._faces.of(to, speaker) if workspace.takes("names") else None
        if face is None and speaker.id:
            raise StreamOver("Slack streams have no room for a speaker's name here; scope chat:write.customize")
        opened = OpenStream(to.key, speaker.id, said.nonce)
        shown = opened.takes(said.text, team_of(to))
        person = None if is_private(to) else recipient
        plan = self._plan(to, speaker) if workspace.takes("tasks") else ()
        start = partial(workspace.streams.start, channel_of(to), to.thread, shown, face, person)
        try:
            message = await self._with_tasks(start, plan, workspace)
            opened.planned = bool(plan) and workspace.takes("tasks")
        except StreamOver as error:
            if "unknown_method" in str(error):
                workspace.refuses("streams")
            raise
        while len(self._open) >= MAX_OPEN:
            del self._open[next(iter(self._open))]
        self._open[message] = opened
        return message

    async def append(self, to: Address, message: str, text: str, workspace: SlackWorkspace) -> None:
        """Append text. Raises StreamOver, also for a stream of another process."""
        opened = self._known(message)
        before = opened.given, opened.sent
        shown = opened.takes(text, team_of(to))
        if shown:
            try:
                with self._unless_over(message):
                    await workspace.streams.append(channel_of(to), message, shown)
            except BaseException:
                opened.given, opened.sent = before
                raise

    async def close(
        self,
        to: Address,
        message: str,
        text: str,
        workspace: SlackWorkspace,
        blocks: Sequence[Mapping[str, Any]],
        *,
        works_on: bool,
    ) -> None:
        """Close the stream, which then shows everything that was given, and the blocks below."""
        opened = self._known(message)
        last = harmless(opened.given + text, team_of(to), opened.sent)
        end = StreamEnd(works_on, _done(opened), blocks)
        with self._unless_over(message):
            await workspace.streams.stop(channel_of(to), message, last, opened.nonce, end)
        self._open.pop(message, None)

    async def do(self, to: Address, speaker: Speaker, doing: str | None, workspace: SlackWorkspace) -> bool:
        """Show an activity in the speaker's open stream, the first one as a title; False without a stream."""
        key = _who(to, speaker)
        if doing is not None and key not in self._plans:
            self._plans.keep(key, doing[:MAX_PLAN_TITLE])
        found = [m for m, s in self._open.items() if (s.conversation, s.speaker) == (to.key, speaker.id)]
        if not found or not workspace.takes("tasks"):
            return False
        message, opened = found[-1], self._open[found[-1]]
        if doing is None or (opened.task is not None and opened.task[1] == doing):
            return True
        begun = f"{opened.nonce}-{opened.tasks}", doing
        before = [*(() if opened.planned else self._plan(to, speaker)), *_done(opened)]
        try:
            with self._unless_over(message):
                await workspace.streams.append(channel_of(to), message, "", [*before, task_chunk(*begun)])
        except (StreamOver, BadMarkup) as error:
            if not _refuses_tasks(error):
                raise
            self._open[message] = opened  # it takes text as before
            workspace.refuses("tasks")
            return False
        opened.task, opened.tasks, opened.planned = begun, opened.tasks + 1, True
        return True

    async def _with_tasks(
        self, start: Callable[[Sequence[Doing]], Awaitable[str]], plan: Sequence[Doing], workspace: SlackWorkspace
    ) -> str:
        """Start a stream with a plan, or without one where the workspace refuses it."""
        try:
            return await start(plan)
        except (StreamOver, BadMarkup) as error:
            if not plan or not _refuses_tasks(error):
                raise
            workspace.refuses("tasks")
        return await start(())

    def grows(self, to: Address, speaker: Speaker) -> bool:
        return any((one.conversation, one.speaker) == (to.key, speaker.id) for one in self._open.values())

    def answered(self, to: Address, speaker: Speaker) -> None:
        """The speaker has answered: the next activity starts something new."""
        self._plans.forget(_who(to, speaker))

    def _plan(self, to: Address, speaker: Speaker) -> Sequence[Doing]:
        title = self._plans.get(_who(to, speaker))
        return () if title is None else (plan_chunk(title),)

    async def end_for_edits(
        self, to: Address, message: str, nonce: str, workspace: SlackWorkspace, *, works_on: bool
    ) -> None:
        """Close a stream of any process, so that its message can be edited; of ours, with its activity completed."""
        done = _done(self._open.pop(message, None))
        with suppress(StreamOver):
            await workspace.streams.stop(channel_of(to), message, "", nonce, StreamEnd(works_on, done))

    def is_likely(self, message: Mapping[str, Any], said: SlackText) -> bool:
        """Whether a message of ours is a stream with this start, left open by a call of unknown outcome."""
        same = message.get("username") == shown_name(said.speaker)
        shown = str(message.get("text") or "")[:LIKENESS_CHARS]
        begins = bool(shown) and harmless(said.text, team_of(said.to)).startswith(shown)
        return same and begins and nonce_of(message) is None and str(message["ts"]) not in self._open

    def _known(self, message: str) -> OpenStream:
        opened = self._open.get(message)
        if opened is None:
            raise StreamOver(f"The stream of message {message} is not open in this process")
        return opened

    @contextmanager
    def _unless_over(self, message: str) -> Iterator[None]:
        try:
            yield
        except StreamOver:
            self._open.pop(message, None)
            raise


def _who(to: Address, speaker: Speaker) -> str:
    return f"{to.key}/{speaker.id}"


def _refuses_tasks(error: Exception) -> bool:
    """Whether Slack does not take an activity; a server that does not know chunks finds no text."""
    return any(code in str(error) for code in ("invalid_chunks", "no_text"))


def _done(opened: OpenStream | None) -> Sequence[Doing]:
    return () if opened is None or opened.task is None else (task_chunk(*opened.task, done=True),)
