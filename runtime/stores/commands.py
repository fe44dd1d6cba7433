"""The commands that sessions take, by the kinds of their events in the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.stores.inbox import FORK_WANTED


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """A command. `unanswered` is the text where there is no session; None for one that needs none.

    `whole`: it is about the session as a whole, and has to be given where that lives. `agents`: it needs agents who
    live.
    """

    kind: str
    unanswered: str | None = "session.nothing_runs"
    whole: bool = False
    agents: bool = False


_ALL = (
    SessionCommand("start", unanswered=None),
    SessionCommand("new", unanswered=None, whole=True),
    SessionCommand("stop", unanswered=None),
    SessionCommand("undo", "session.nothing_to_undo", whole=True),
    SessionCommand(FORK_WANTED, "session.nothing_to_fork", whole=True),
    *map(SessionCommand, ("status", "who", "iam", "agents", "tasks", "meeting")),
    SessionCommand("schedule", unanswered=None, whole=True),
    SessionCommand("invite", agents=True),
    SessionCommand("leave", agents=True),
)

SESSION_COMMANDS: Mapping[str, SessionCommand] = {command.kind: command for command in _ALL}
