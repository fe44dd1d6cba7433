"""What was said in a thread before, asked of Slack."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.slack.api.workspaces import Workspace, Workspaces
from adapters.slack.codec.addresses import SlackPerson, channel_of, team_of
from adapters.slack.codec.earlier import earlier_of, is_told, people_in
from adapters.slack.inbound.marks import microseconds
from runtime.core.address import Address
from runtime.core.errors import OutcomeUncertain, RateLimited

_log = logging.getLogger(__name__)

FindPerson = Callable[[str, Workspace], Awaitable[SlackPerson | None]]
"""Tells a person by their id; None where Slack does not answer now."""


async def earlier_in(
    workspaces: Workspaces, person: FindPerson, to: Address, before: str, at_most: int
) -> Sequence[Inbound]:
    """The message that a thread began with, and the latest before another one. Outside of threads nothing: there a
    mention begins its own."""
    if to.thread is None or to.thread == before:
        return []
    workspace = await workspaces.of(team_of(to))
    found = await _read(workspace, channel_of(to), to.thread, before, at_most)
    people = await _people_of(found, person, workspace)
    return [one for message in found for one in _understood(message, to, workspace, people)]


def _understood(
    message: Mapping[str, Any], to: Address, workspace: Workspace, people: Mapping[str, SlackPerson]
) -> Sequence[Inbound]:
    try:
        return [earlier_of(message, to, workspace.bot, people)]
    except NOT_UNDERSTOOD as error:
        _log.info("A message of Slack's history is not understood", extra={"error": repr(error)})
        return []


async def _read(workspace: Workspace, channel: str, thread: str, before: str, at_most: int) -> list[dict[str, Any]]:
    """Of a thread that Slack does not give in one go, what it gave."""
    first: list[dict[str, Any]] = []
    latest = deque[dict[str, Any]](maxlen=max(0, at_most - 1))
    try:
        async for message in workspace.api.messages(channel, thread, None):
            if microseconds(message["ts"]) >= microseconds(before):
                break
            if is_told(message):
                (latest if first else first).append(message)
    except (RateLimited, OutcomeUncertain):
        if not first:
            raise
    return [*first, *latest]


async def _people_of(
    messages: Sequence[Mapping[str, Any]], find: FindPerson, workspace: Workspace
) -> dict[str, SlackPerson]:
    known: dict[str, SlackPerson] = {}

    async def look_up(user: str) -> None:
        person = await find(user, workspace)
        if person is not None:
            known[user] = person

    async with anyio.create_task_group() as tasks:
        for user in dict.fromkeys(user for message in messages for user in people_in(message)):
            if user != workspace.bot.user_id:
                tasks.start_soon(look_up, user)
    return known
