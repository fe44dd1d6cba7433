"""Plans in threads that we opened, as for a meeting: what each agent there does for long, and has done, in one message.

The message is there while somebody works; the next one begins with what was done before. A process that has not opened
the thread shows a card for each instead.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
from msgspec import Struct, field

from adapters.recent import RecentValues
from adapters.retrying import MayFail
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import AuthorFace, channel_of, plan_block
from adapters.slack.outbound.answers import REMEMBERED
from runtime.core.address import Address, Speaker
from runtime.core.errors import MessageGone, NotDelivered
from runtime.core.texts import Texts

MAX_PLANS: Final = 1_000
MAX_TASKS: Final = 20
_IN = "#"

Post = Callable[[list[dict[str, Any]]], Awaitable[str]]
"""Posts a plan's blocks; the id of the message."""

MAX_STATUS: Final = 100
_log = logging.getLogger(__name__)


class _Plan(Struct):
    """What is done in a thread. `tasks` are titles by ids, `working` those that are not done."""

    title: str
    tasks: dict[str, str] = field(default_factory=dict)
    working: set[str] = field(default_factory=set)
    begun: int = 0
    message: str | None = None
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    def begin(self, title: str) -> str:
        self.begun += 1
        task = str(self.begun)
        self.tasks[task] = title
        self.working.add(task)
        done = [one for one in self.tasks if one not in self.working]
        for old in done[: max(0, len(self.tasks) - MAX_TASKS)]:
            del self.tasks[old]
        return task

    def drop(self, task: str) -> None:
        self.tasks.pop(task, None)
        self.working.discard(task)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return [plan_block(self.title, [(id_, title, id_ in self.working) for id_, title in self.tasks.items()])]


class Plans:
    def __init__(self) -> None:
        self._plans = RecentValues[str, _Plan](MAX_PLANS)

    def opened(self, to: Address, title: str) -> None:
        self._plans.keep(to.key, _Plan(title))

    def has(self, to: Address) -> bool:
        return to.key in self._plans

    async def begin(self, to: Address, doing: str, speaker: Speaker, workspace: SlackWorkspace, post: Post) -> str:
        """Show a task that begins; its id. Raises as `post`."""
        plan = self._plans.get(to.key)
        assert plan is not None
        async with plan.turn:
            task = plan.begin(_title(speaker, doing))
            try:
                await self._show(to, plan, workspace, post)
            except BaseException:
                plan.drop(task)
                raise
            return f"{plan.message}{_IN}{task}"

    async def change(self, to: Address, card: str, doing: str, speaker: Speaker, workspace: SlackWorkspace) -> None:
        """Show that a task is something else now. Raises MessageGone."""
        message, task = _parts(card)
        plan = self._plans.get(to.key)
        if plan is None or plan.message != message or task not in plan.tasks:
            raise MessageGone("The plan is not there any more")
        async with plan.turn:
            plan.tasks[task] = _title(speaker, doing)
            await workspace.api.edit(channel_of(to), message, plan.blocks)

    async def end(self, to: Address, card: str, workspace: SlackWorkspace) -> None:
        """Show that a task is done; the plan goes with the last one. Raises MessageGone."""
        message, task = _parts(card)
        plan = self._plans.get(to.key)
        if plan is None or plan.message != message:
            await workspace.api.delete(channel_of(to), message)
            return
        async with plan.turn:
            plan.working.discard(task)
            if plan.working:
                await workspace.api.edit(channel_of(to), message, plan.blocks)
            else:
                await workspace.api.delete(channel_of(to), message)
                plan.message = None

    async def _show(self, to: Address, plan: _Plan, workspace: SlackWorkspace, post: Post) -> None:
        if plan.message is not None:
            try:
                await workspace.api.edit(channel_of(to), plan.message, plan.blocks)
            except MessageGone:
                plan.message = None
        if plan.message is None:
            plan.message = await post(plan.blocks)


def is_planned(card: str) -> bool:
    return _IN in card


def _parts(card: str) -> tuple[str, str]:
    message, _, task = card.partition(_IN)
    return message, task


def _title(speaker: Speaker, doing: str) -> str:
    return f"{speaker.name}: {doing}"


class SlackIndicators:
    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._statuses = RecentValues[str, bool](REMEMBERED)
        self._working = RecentValues[str, bool](REMEMBERED)
        self._at_work: dict[str, set[str]] = {}

    def posted(self, to: Address) -> None:
        """A message of ours appeared, which removes the status at Slack."""
        self._statuses.forget(to.key)

    async def status(self, to: Address, doing: str | None, face: AuthorFace | None, workspace: SlackWorkspace) -> None:
        if to.thread is None:
            return
        self._statuses.keep(to.key, True)
        await workspace.api.set_status(
            channel_of(to), to.thread, (doing or self._texts("doing.thinks"))[:MAX_STATUS], face
        )
        await self.work(to, workspace)

    async def work(self, to: Address, workspace: SlackWorkspace) -> None:
        """A speaker works on an answer in a thread: show a stop button if the app is an agent. Never raises."""
        if workspace.takes("sessions") and to.key not in self._working:
            await self._session(to, "processing", workspace)
            self._working.keep(to.key, True)

    async def clear(self, to: Address, workspace: SlackWorkspace) -> None:
        """Remove the status, which an edit that finishes a message does not. Never raises."""
        if to.thread is None or to.key not in self._statuses:
            return
        with MayFail(_log.info, "A status stays until Slack takes it away"):
            await workspace.api.set_status(channel_of(to), to.thread, "", None)
            self._statuses.forget(to.key)

    def works(self, to: Address, speaker: Speaker, active: bool) -> None:
        speakers = self._at_work.setdefault(to.key, set())
        if active:
            speakers.add(speaker.id)
        else:
            speakers.discard(speaker.id)
        if not speakers:
            del self._at_work[to.key]

    def works_on(self, to: Address) -> bool:
        """Whether a message that is complete is not the last one, and the stop button is to stay."""
        return to.key in self._working and to.key in self._at_work

    async def rest(self, to: Address, workspace: SlackWorkspace) -> None:
        """An answer is complete: remove the stop button, unless somebody goes on working. Never raises."""
        if to.key in self._working and to.key not in self._at_work:
            self._working.forget(to.key)
            await self._session(to, "active", workspace)

    async def _session(self, to: Address, status: str, workspace: SlackWorkspace) -> None:
        if to.thread is None or not workspace.takes("sessions"):
            return
        with MayFail(_log.info, "An agent's status on Slack is late"):
            try:
                await workspace.api.set_session(channel_of(to), to.thread, status)
            except NotDelivered as error:
                workspace.refuses("sessions")
                _log.info("There is no stop button on Slack", extra={"error": str(error)})
