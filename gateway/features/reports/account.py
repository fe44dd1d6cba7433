"""The account of a failure, computed from its branch: what, where, what was executed, the likely cause, and what to do.

Nothing of it is stored. Who reads a report gets what the tape still has, and of what was deleted nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from anyio import to_thread
from msgspec import Struct

from adapters.web.charters import is_closed
from gateway.clients.journals import is_closed_task
from gateway.features.reports.redis import Report
from gateway.observability.watching import SecretMasking
from runtime.core.address import TASK_PLATFORM, Address, session_of
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.core.ids import SessionId
from runtime.core.plain_text import one_line
from runtime.core.texts import Texts
from runtime.execution.frames.outcomes import reason
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ProgramBroken
from runtime.tape.facts.tasks import OrderOver, TaskOver
from runtime.tape.state.frames import RaisedAt
from runtime.tape.step_listing import stretches
from runtime.tape.tape import Fact, TapeReader

LAST_LINES = 12
"""The lines of what was executed before the failure that an account shows."""

_LINE_CHARS = 160
_MAX_READ = 20_000
"""The facts of a session beyond which what was executed is not told."""
_WHAT_CHARS = 300

UNKNOWN = "unknown"

_TYPES: Mapping[str, tuple[str, ...]] = {
    "tool_down": ("RemoteUnavailable", "RemoteFault", "ConnectError", "ConnectionError", "ConnectionRefusedError"),
    "tool_failed": ("ToolFailed",),
    "not_allowed": ("NotAllowed", "PermissionError"),
    "outcome_unknown": ("OutcomeUnknown",),
    "late": ("RemoteTimeout", "TimeoutError", "QueueTimeout", "LLMTimeout", "TaskLate"),
    "budget": ("TaskLimit",),
    "model_away": ("LLMUnavailable", "NoModelSet", "LLMRateLimited"),
    "model_refused": ("LLMRefused", "LLMKeyRefused", "LLMNotOffered"),
    "model_unusable": ("NoUsableAnswer", "VerificationError"),
    "too_long": ("ContextTooLong",),
    "program_changed": ("Divergence", "ProgramChanged", "Unjournaled", "ProgramBroken"),
    "not_there": ("KeyError", "IndexError", "NameError", "UnknownTarget", "FileNotFoundError", "AttributeError"),
    "wrong_type": ("TypeError",),
    "arithmetic": ("ZeroDivisionError", "OverflowError"),
    "poison": ("DeadLetter",),
}

_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("arithmetic", re.compile(r"\bdivision by zero\b", re.IGNORECASE)),
    ("budget", re.compile(r"\b(?:budget|limit of|over (?:a|the|its) limit|limits? (?:is|are))\b", re.IGNORECASE)),
    ("late", re.compile(r"\b(?:took longer than|time (?:is|was) over|ran out of time|timed out)\b", re.IGNORECASE)),
    (
        "wrong_type",
        re.compile(r"\b(?:is not an? |must be an? |expected an? |takes an? .*, not |invalid literal)", re.I),
    ),
    ("not_there", re.compile(r"\b(?:there is no|no such|not found|does not exist)\b", re.IGNORECASE)),
)

_OF_TYPE = {name: cause for cause, names in _TYPES.items() for name in names}


class Account(Struct, frozen=True):
    """An account, without secrets. `what` and `facts` are empty where the tape is gone or cannot be read, and `command`
    where there are no words to hear again."""

    what: str
    where: str
    facts: tuple[str, ...]
    cause: str
    advice: str
    command: str
    error: str
    """The text of the error without a place in the program."""
    source: str
    """The file and line that raised it, else those of the step."""

    def lines(self) -> list[str]:
        shown = [f"what     {self.what or '(the session is gone)'}", f"where    {self.where}"]
        shown += [f"{'before' if not number else '':<9}{fact}" for number, fact in enumerate(self.facts)]
        again = [f"goes on  {self.command}"] if self.command else []
        return [*shown, f"cause    {self.cause}", f"try      {self.advice}", *again]


class Accounts(Struct, eq=False):
    """`private`: owners read what is said in private and direct rooms."""

    _tapes: TapeReader
    masking: SecretMasking
    _texts: Texts
    private: bool = False

    async def of(self, report: Report, *, executed: bool = True) -> Account:
        """`executed`: with what was executed before, for which all facts up to the failure's are read."""
        failed = next(iter(await self._facts(report, after=max(0, report.seq - 1))), None)
        before = await self._facts(report) if executed and report.seq <= _MAX_READ else []
        text, at = ("", None) if failed is None else _how(failed)
        lines = () if at is None else at.lines
        cause = cause_of(report.error_type, text)
        what = f"{report.error_type}: {text}" if text else report.error_type
        return Account(
            one_line(self.masking.masked(what), _WHAT_CHARS),
            self.masking.masked(where_of(report, lines)),
            await to_thread.run_sync(self._executed, before) if before else (),
            self._texts(f"debug.cause_{cause}"),
            self._texts(f"debug.try_{cause}"),
            f"parley debug again {report.number}" if can_go_on(report) else "",
            one_line(self.masking.masked(reason((report.error_type, text), self._texts)), _WHAT_CHARS),
            lines[-1].partition(" in ")[0] if lines else report.source,
        )

    async def hides(self, report: Report) -> bool:
        """Whether a failure is one of a private or direct room, whose words owners do not read. Raises
        StorageUnavailable."""
        if self.private:
            return False
        platform, _, conversation = report.conversation.partition(":")
        address = Address(platform, conversation)
        task = session_of(address)
        return is_closed(address) if task is None else await is_closed_task(self._tapes, task) is not False

    async def _facts(self, report: Report, *, after: int = 0) -> list[Fact]:
        """The facts up to the failure's; none where they cannot be read."""
        if not report.session:
            return []
        try:
            read = self._tapes.read_session(SessionId(report.session), after=after, until=report.seq)
            return [fact async for fact in read]
        except (ArchiveUnavailable, ContentLocked):
            return []

    def _executed(self, facts: Iterable[Fact]) -> tuple[str, ...]:
        lines = [(one, line) for one in stretches(facts) for line in one.text.splitlines()][-LAST_LINES:]
        told = (f"{one.agent_class}.{one.playbook}: {line}" for one, line in lines)
        return tuple(one_line(self.masking.masked(line), _LINE_CHARS) for line in told)


def can_go_on(report: Report) -> bool:
    """Whether a conversation can hear again what has led to a failure: people speak to it, and not a task."""
    return bool(report.session) and not report.conversation.startswith(f"{TASK_PLATFORM}:")


def _how(failed: Fact) -> tuple[str, RaisedAt | None]:
    """The text of a failure, and where it was raised, by its fact."""
    returned, broken = read_as(failed, FrameReturned), read_as(failed, ProgramBroken)
    over = read_as(failed, OrderOver) or read_as(failed, TaskOver)
    if returned is not None and returned.error is not None:
        return returned.error[1], returned.raised_at
    if over is not None:
        return over.error or "", over.raised_at
    return ("", None) if broken is None else (broken.why, None)


def where_of(report: Report, lines: Iterable[str] = ()) -> str:
    places = [report.place]
    places += [f"“{report.instruction}”"] if report.instruction else []
    places += [*lines][-1:] or ([report.source] if report.source else [])
    return ", ".join(places)


def cause_of(error_type: str, text: str) -> str:
    """The cause of an error by its type, else by its text; UNKNOWN where no rule holds."""
    known = _OF_TYPE.get(error_type)
    if known is not None:
        return known
    return next((cause for cause, pattern in _TEXTS if pattern.search(text)), UNKNOWN)
