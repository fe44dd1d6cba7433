"""Sending on Slack: messages, edits, reactions, choices and files, each once and under its speaker's name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.adapter import FileData
from adapters.recent import RecentValues, SingleMarks
from adapters.retrying import MayFail
from adapters.slack.api.calls import MissingScope, StillStreaming
from adapters.slack.api.web import nonce_of
from adapters.slack.api.workspaces import SlackWorkspace, SlackWorkspaces
from adapters.slack.codec.addresses import AuthorFace, blocks_of, channel_of, shown_name, task_card, team_of
from adapters.slack.codec.events import FILE_URL
from adapters.slack.limits import MARKS
from adapters.slack.manifest import OWN_NAMES
from adapters.slack.outbound.answers import REMEMBERED, AgentIcons, AnswerBlocks, SlackThreads, check_shown
from adapters.slack.outbound.plans import Plans, SlackIndicators, is_planned
from adapters.slack.outbound.streaming import SlackText, Streams
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, BadMarkup, MessageGone, NotDelivered, OutcomeUncertain, StreamOver
from runtime.core.message import Choice, Mark
from runtime.core.texts import Texts

LOOK_BACK_S: Final = 2 * 86_400.0
"""The period in which a message that may have been posted is searched for: a day, by a clock that may be one ahead."""
FILE_MESSAGE: Final = "file:"
"""The prefix of our id for a message with a file, because Slack does not tell the message's own id."""
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class SlackSender:
    def __init__(
        self, workspaces: SlackWorkspaces, threads: SlackThreads, clock: Clock, texts: Texts, *, thumbs: bool
    ) -> None:
        self._workspaces = workspaces
        self._threads = threads
        self._answers = AnswerBlocks(texts, thumbs=thumbs)
        self._clock = clock
        self._faces = AgentIcons(REMEMBERED)
        self._streams = Streams(self._faces)
        self._texts = texts
        self._signs = SlackIndicators(texts)
        self._marks_there = SingleMarks(MARKS)
        self._doubtful = RecentValues[str, bool](REMEMBERED)
        self._unless = RecentValues[str, Callable[[], bool]](REMEMBERED)
        self._adopted = RecentValues[str, bool](REMEMBERED)
        self._uploads = RecentValues[str, str](REMEMBERED)
        self._plans = Plans()

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """Send a message, after a search for one that an earlier attempt may have posted."""
        workspace = await self._workspaces.of(team_of(to))
        said = SlackText(to, text, speaker, nonce, workspace)
        message = await self._posted_before(said)
        if message is None:
            message = await self._post(said, final=final)
        elif nonce in self._adopted:
            shown = partial(workspace.api.edit, channel_of(to), message)
            await self._answers.show(_said(text, speaker, workspace), speaker, workspace, shown, final=final)
        self._doubtful.forget(nonce)
        self._adopted.forget(nonce)
        self._unless.forget(nonce)
        self._threads.spoke(to, message)
        self._signs.posted(to)
        if final:
            self._streams.answered(to, speaker)
            await self._signs.rest(to, workspace)
        return message

    def doubt(self, nonce: str, /) -> None:
        """Look for this message also in a thread in which this process has spoken: another one may have posted it."""
        self._doubtful.keep(nonce, True)

    def unless(self, nonce: str, away: Callable[[], bool], /) -> None:
        """Searching takes a call's time, in which a lease may end: two nodes that search at once would both post."""
        self._unless.keep(nonce, away)

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """A message keeps the name under which it was posted."""
        workspace = await self._workspaces.of(team_of(to))
        shown = partial(self._show, to, message, nonce=nonce, workspace=workspace)
        said = _said(text, speaker, workspace)
        answer, blocks = await self._answers.show(said, speaker, workspace, shown, final=final)
        if final:
            check_shown(answer, blocks, None)
            self._streams.answered(to, speaker)
            await self._signs.clear(to, workspace)
            await self._signs.rest(to, workspace)

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        workspace = await self._workspaces.of(team_of(to))
        labelled = [replace(one, label=self._texts("forms.answer")) if one.free else one for one in choices]
        shown = partial(self._show, to, message, nonce=nonce, workspace=workspace)
        said = _said(text, speaker, workspace, labelled)
        answer, blocks = await self._answers.show(said, speaker, workspace, shown, final=False)
        check_shown(answer, blocks, None)

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        """Delete a message. A file is deleted with its message."""
        workspace = await self._workspaces.of(team_of(to))
        with suppress(MessageGone):
            if message.startswith(FILE_MESSAGE):
                await workspace.files.remove(message.removeprefix(FILE_MESSAGE))
            elif is_planned(message):
                await self._plans.end(to, message, workspace)
            else:
                await workspace.api.delete(channel_of(to), message)

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        workspace = await self._workspaces.of(team_of(to))
        place = (channel_of(to), message)
        react, away = partial(workspace.api.react, *place), partial(workspace.api.take_back, *place)
        await self._marks_there.put(f"{to.conversation}/{message}", mark, react, away)

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """Post a message, below which the thread opens, outside of threads. It is searched for first."""
        self._doubtful.keep(nonce, True)
        with MayFail(_log.info, "Slack opens no thread here", (NotDelivered,)):
            message = await self.send(replace(to, thread=None), title, speaker=GATEWAY, nonce=nonce, final=True)
            opened = replace(to, thread=message)
            self._threads.ours.keep(opened.key, True)
            self._plans.opened(opened, title)
            return opened
        return None

    async def link(self, to: Address, /) -> str | None:
        if to.thread is None:
            return None
        workspace = await self._workspaces.of(team_of(to))
        return await workspace.api.permalink(channel_of(to), to.thread)

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show a task in the speaker's stream, else a status below the thread; outside threads Slack shows nothing."""
        if to.thread is None:
            return
        workspace = await self._workspaces.of(team_of(to))
        try:
            if await self._streams.do(to, speaker, doing, workspace):
                return
        except StreamOver:
            _log.debug("A stream ended before what its speaker does was shown in it")
        await self._signs.status(to, doing, self._face(to, speaker, workspace), workspace)

    def works(self, to: Address, speaker: Speaker, active: bool, /) -> None:
        """As the port says. The stop button stays until nobody works in the thread."""
        self._signs.works(to, speaker, active)

    async def end_typing(self, to: Address, speaker: Speaker, /) -> None:
        await self._signs.rest(to, await self._workspaces.of(team_of(to)))

    async def show_task(
        self, to: Address, doing: str, /, *, speaker: Speaker, nonce: str, card: str | None = None
    ) -> str:
        """A task card, under the speaker's name, or a task in the thread's plan; none beside a stream of theirs."""
        workspace = await self._workspaces.of(team_of(to))
        if not workspace.takes("tasks") or self._streams.grows(to, speaker):
            raise NotDelivered("Slack shows no task card here")
        if card is not None and is_planned(card):
            await self._plans.change(to, card, doing, speaker, workspace)
            return card
        post = partial(self._post_card, SlackText(to, doing, speaker, nonce, workspace))
        try:
            if card is None and workspace.takes("plans") and self._plans.has(to):
                try:
                    return await self._plans.begin(to, doing, speaker, workspace, partial(post, GATEWAY))
                except BadMarkup:
                    workspace.refuses("plans")
            blocks = [task_card(card or nonce, doing)]
            if card is None:
                return await post(speaker, blocks)
            await workspace.api.edit(channel_of(to), card, blocks)
        except BadMarkup as error:
            workspace.refuses("tasks")
            raise NotDelivered(f"Slack has no task cards here: {error}") from error
        return card

    async def _post_card(self, said: SlackText, speaker: Speaker, blocks: list[dict[str, Any]]) -> str:
        """Post a card or plan; one whose posting was unclear is edited."""
        to, api = said.to, said.workspace.api
        if (card := await self._posted_before(replace(said, speaker=speaker))) is not None:
            await api.edit(channel_of(to), card, blocks)
            return card
        self._doubtful.keep(said.nonce, True)
        face = self._face(to, speaker, said.workspace)
        answer = await api.send(channel_of(to), to.thread, blocks, face, said.nonce)
        self._doubtful.forget(said.nonce)
        self._threads.spoke(to, str(answer["ts"]))
        return str(answer["ts"])

    async def open_stream(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Open a stream. One that an earlier attempt may have opened is looked for, and goes on by edits."""
        workspace = await self._workspaces.of(team_of(to))
        said = SlackText(to, text, speaker, nonce, workspace)
        if await self._posted_before(said) is not None:
            raise StreamOver("The message is there already")
        with self._in_doubt(nonce):
            message = await self._streams.open(said, self._threads.recipient(to))
        self._doubtful.forget(nonce)
        self._unless.forget(nonce)
        self._threads.spoke(to, message)
        self._signs.posted(to)
        await self._signs.work(to, workspace)
        return message

    async def append(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        workspace = await self._workspaces.of(team_of(to))
        await self._streams.append(to, message, text, workspace)

    async def close_stream(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        """Close the stream. From now on the message carries its nonce."""
        workspace = await self._workspaces.of(team_of(to))
        works_on = self._signs.works_on(to)
        close = partial(self._streams.close, to, message, text, workspace, works_on=works_on)
        await self._answers.show(lambda _tables: [], speaker, workspace, close, final=True)
        self._streams.answered(to, speaker)
        await self._signs.rest(to, workspace)

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Upload a file. It appears under the bot's name, so the speaker's name stands above its text."""
        workspace = await self._workspaces.of(team_of(to))
        file_id = self._uploads.get(nonce)
        if file_id is None:
            file_id = await workspace.files.put(file)
            self._uploads.keep(nonce, file_id)
        elif await workspace.files.is_shared(file_id, channel_of(to)):
            return f"{FILE_MESSAGE}{file_id}"
        shown = blocks_of(text, shown_name(speaker))[0]["text"]["text"]
        await workspace.files.share(file_id, file.name, channel_of(to), to.thread, shown)
        return f"{FILE_MESSAGE}{file_id}"

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        """Download a file. Slack is asked for its address each time, because addresses change."""
        team, separator, file_id = url.removeprefix(FILE_URL).partition(":")
        if not url.startswith(FILE_URL) or not separator:
            raise NotDelivered(f"{url} is not the address of a file on Slack")
        workspace = await self._workspaces.of(team)
        return await workspace.files.content(file_id, max_bytes=max_bytes)

    async def _show(
        self, to: Address, message: str, blocks: Sequence[Mapping[str, Any]], nonce: str, workspace: SlackWorkspace
    ) -> AsyncSlackResponse:
        """Edit a message, even one that is an open stream."""
        if message.startswith(FILE_MESSAGE):
            raise MessageGone("Slack does not allow changes to the text beside a file")
        try:
            return await workspace.api.edit(channel_of(to), message, blocks)
        except StillStreaming:
            await self._streams.end_for_edits(to, message, nonce, workspace, works_on=self._signs.works_on(to))
            return await workspace.api.edit(channel_of(to), message, blocks)

    async def _posted_before(self, said: SlackText) -> str | None:
        """The message, if it already exists after an unclear outcome, ours or an earlier process's."""
        to, nonce, workspace = said.to, said.nonce, said.workspace
        if nonce not in self._doubtful and to.key in self._threads.spoken_in:
            return None
        since_s = self._clock.now().timestamp() - LOOK_BACK_S

        def is_it(message: Mapping[str, Any]) -> bool:
            ours = message.get("bot_id") == workspace.bot.bot_id and to.thread is not None
            return nonce_of(message) == nonce or (ours and self._streams.is_likely(message, said))

        try:
            history = workspace.api.messages(channel_of(to), to.thread, since_s)
            found = [message async for message in history if is_it(message)]
        except NotDelivered as error:
            _log.warning("Whether a message was posted before cannot be looked up", extra={"error": str(error)})
            return None
        if not found:
            away = self._unless.get(nonce)
            if away is not None and away():
                raise OutcomeUncertain("Slack: another node may have the conversation now")
            return None
        message = str(found[0]["ts"])
        if nonce_of(found[0]) is None:
            await self._streams.end_for_edits(to, message, nonce, workspace, works_on=self._signs.works_on(to))
            self._adopted.keep(nonce, True)
        self._doubtful.keep(nonce, True)
        return message

    async def _post(self, said: SlackText, *, final: bool) -> str:
        try:
            return await self._post_once(said, final=final)
        except MissingScope as error:
            if error.needed != OWN_NAMES or not said.workspace.takes("names"):
                raise
            said.workspace.refuses("names")
        return await self._post_once(said, final=final)

    async def _post_once(self, said: SlackText, *, final: bool) -> str:
        to, speaker, workspace = said.to, said.speaker, said.workspace
        face, shown = self._face(to, speaker, workspace), _said(said.text, speaker, workspace)
        post = partial(workspace.api.send, channel_of(to), to.thread, face=face, nonce=said.nonce)
        with self._in_doubt(said.nonce):
            answer, blocks = await self._answers.show(shown, speaker, workspace, post, final=final)
        if final:
            check_shown(answer, blocks, to.thread)
        return str(answer["ts"])

    @contextmanager
    def _in_doubt(self, nonce: str) -> Iterator[None]:
        """A post may be there from before its call until a clear answer: a refusal says that it is not."""
        self._doubtful.keep(nonce, True)
        try:
            yield
        except OutcomeUncertain:
            raise
        except AdapterError:
            self._doubtful.forget(nonce)
            raise

    def _face(self, to: Address, speaker: Speaker, workspace: SlackWorkspace) -> AuthorFace | None:
        return self._faces.of(to, speaker) if workspace.takes("names") else None


def _said(
    text: str, speaker: Speaker, workspace: SlackWorkspace, choices: Sequence[Choice] = ()
) -> Callable[[bool], list[dict[str, Any]]]:
    """How a text is made blocks: under the speaker's name, if the message cannot appear under it."""
    heading = None if workspace.takes("names") else shown_name(speaker)
    return lambda tables: blocks_of(text, heading, choices, tables=tables)
