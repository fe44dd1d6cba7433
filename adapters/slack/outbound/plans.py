"""Plans in threads that we opened, as for a meeting: what each agent there does for long, and has done, in one message.

The message is there while somebody works; the next one begins with what was done before. A process that has not opened
the thread shows a card for each instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from adapters.recent import RecentValues
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import channel_of, plan_block
from runtime.core.address import Address, Speaker
from runtime.core.errors import MessageGone

MAX_PLANS: Final = 1_000
MAX_TASKS: Final = 20
"""The tasks of a plan that are shown, the latest; Slack names no limit."""
_IN = "#"

Post = Callable[[list[dict[str, Any]]], Awaitable[str]]
"""Posts a plan's blocks; the id of the message."""


@dataclass(slots=True)
class _Plan:
    """What is done in a thread. `tasks` are titles by ids, `working` those that are not done."""

    title: str
    tasks: dict[str, str] = field(default_factory=dict)
    working: set[str] = field(default_factory=set)
    begun: int = 0
    message: str | None = None
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    def begin(self, title: str) -> str:
        """A new task; the id of it."""
        self.begun += 1
        task = str(self.begun)
        self.tasks[task] = title
        self.working.add(task)
        done = [one for one in self.tasks if one not in self.working]
        for old in done[: max(0, len(self.tasks) - MAX_TASKS)]:
            del self.tasks[old]
        return task

    def drop(self, task: str) -> None:
        """A task that was not shown."""
        self.tasks.pop(task, None)
        self.working.discard(task)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The plan, as Slack shows it."""
        return [plan_block(self.title, [(id_, title, id_ in self.working) for id_, title in self.tasks.items()])]


class Plans:
    """The plans of the threads that this process has opened."""

    def __init__(self) -> None:
        self._plans = RecentValues[str, _Plan](MAX_PLANS)

    def opened(self, to: Address, title: str) -> None:
        """A thread was opened, under this title."""
        self._plans.keep(to.key, _Plan(title))

    def has(self, to: Address) -> bool:
        """Whether what is done in a thread is shown in a plan."""
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
    """Whether a card is a task of a plan."""
    return _IN in card


def _parts(card: str) -> tuple[str, str]:
    message, _, task = card.partition(_IN)
    return message, task


def _title(speaker: Speaker, doing: str) -> str:
    return f"{speaker.name}: {doing}"
