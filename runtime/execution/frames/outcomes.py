"""Outcomes of calls, in the forms of facts and of code; where an exception was raised; and what becomes of frames."""

from __future__ import annotations

import builtins
import re
import sysconfig
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, cast

from msgspec import Struct

from runtime.bus import Bus
from runtime.core import errors
from runtime.core.markup import MarkdownPart
from runtime.core.plain_text import MAX_ERROR_CHARS, error_text, shortened
from runtime.core.texts import Texts
from runtime.events import frames as happened
from runtime.events.frames import FrameAbout
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import CallReturned, FrameReturned, FrameStarted
from runtime.tape.facts.registry import hears
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallRecord, RaisedAt, WaitState

_PLACE = re.compile(r"\b\w+:\d+(?:\.\d+)*:[A-Z]{3}: ")
"""The location of a step at the start of an error, as in `Main:02.01:QUE: `."""

_OF_MODELS = {
    errors.LLMUnavailable.__name__: "session.model_unreachable",
    errors.LLMProcessLost.__name__: "session.model_unreachable",
    errors.NoModelSet.__name__: "session.model_unset",
    errors.LLMTimeout.__name__: "session.model_slow",
    errors.LLMRateLimited.__name__: "session.model_busy",
    errors.LLMRefused.__name__: "session.model_refused",
    errors.LLMKeyRefused.__name__: "session.model_key_refused",
    errors.LLMNotOffered.__name__: "session.model_refused",
    errors.LLMQuotaSpent.__name__: "session.model_quota_spent",
}
"""The text for people when the model gave no answer; the log has the provider's words."""

_OF_THEIR_OWN = (StopIteration, StopAsyncIteration, ExceptionGroup)
"""Python takes the first two for something else when a coroutine raises them, and a group is made of exceptions."""

MAX_LINES = 5
"""The places in Python code that are kept of a failure."""

_OWN = ("runtime", "gateway", "adapters")
"""Our packages, whose lines say nothing to the author of a program."""

_LIBRARIES = ("<frozen ", *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))

FOR_RETRY: Final = {"human": True, "retry": True}
"""What a playbook waits for that could not go on: whoever writes has it tried again."""

Place = tuple[str, str, str, str]
"""The session, the frame, its agent and its playbook, as all that happens at its work names them."""


def waits_by(error: Exception, texts: Texts, *, guests: bool = False) -> str:
    """The text for people, `guests` among them, where a playbook waits, because of an error, until somebody writes."""
    if isinstance(error, errors.UnscriptedQuestion):
        return texts("session.unscripted", error=error)
    of_model = _OF_MODELS.get(type(error).__name__)
    if of_model is None and guests:
        return texts("session.cannot_continue")
    if of_model is None:
        return texts("session.trouble", error=error)
    return texts("session.model_gone", error=texts(of_model))


def site(frame: Frame, call: FrameCall) -> tuple[str, str, str, str]:
    return frame.id, call.pos, call.name, call.digest


def described(error: BaseException) -> tuple[str, str]:
    """An exception as data: its type's name and its text, shortened if needed. A group of one is what it groups."""
    error = sole(error)
    if isinstance(error, RecordedError):
        return error.type_name, error.text
    if isinstance(error, BaseExceptionGroup):
        text = f"{error.message}: {'; '.join(': '.join(described(one)) for one in error.exceptions)}"
        return type(error).__name__, shortened(text, MAX_ERROR_CHARS)
    return type(error).__name__, error_text(error)


def sole(error: BaseException) -> BaseException:
    """The exception that a group, such as that of a task group, has alone; any other exception itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def failed_call(frame: Frame, call: FrameCall, error: BaseException) -> CallReturned:
    found = sole(error)
    place = found.raised_at if isinstance(found, RecordedError) else None
    return CallReturned(*site(frame, call), error=described(found), raised_at=place)


def reason(error: Sequence[str], texts: Texts) -> str:
    """The reason for a failure, for people: without the rule that a model broke, without a place in the program, and a
    sentence where Python has a value alone."""
    name, text = error
    if name == errors.NoUsableAnswer.__name__:
        return texts("session.no_usable_answer")
    if name == KeyError.__name__:
        return texts("session.no_entry", entry=MarkdownPart(text))
    return _PLACE.sub("", text).rstrip(".") or texts("session.no_reason")


class RecordedError(Exception):
    """An exception as the journal has it: its type's name, its text, and where it was raised, if that is known."""

    type_name: str
    text: str
    raised_at: RaisedAt | None

    def __str__(self) -> str:
        return self.text


class RaisedByPlaybook(RecordedError, errors.PlaybookError):
    """An exception from another playbook that is neither one of ours nor a frequent built-in one."""


def rebuilt(
    error: tuple[str, str], known: Mapping[str, object] = NOTHING, raised_at: RaisedAt | None = None
) -> Exception:
    """The exception in a record: one of ours or a frequent built-in one, else RaisedByPlaybook.

    That is of the exception's own type too, where Python or the code that gets it, with the names `known`, has one of
    that name: `except` finds it by either. Its class has the name of its type in any case. Recorded again, it is the
    same; what it had beside its text is lost.
    """
    name, text = error
    own = _type_of(name, known)
    base: type[RecordedError] = RecordedError if name in _EXCEPTIONS else RaisedByPlaybook
    try:
        found = _made(name, (base,) if own is None else (own, base), text)
    except (TypeError, ValueError):  # the two cannot be combined
        found = _made(name, (base,), text)
    found.type_name, found.text, found.raised_at = name, text, raised_at
    return found


def result_of(record: CallRecord) -> Any:
    """The value of a call. Raises what it raised."""
    if record.error is not None:
        raise rebuilt(record.error, raised_at=record.raised_at)
    return record.value


def _type_of(name: str, known: Mapping[str, object]) -> type[Exception] | None:
    own = _EXCEPTIONS.get(name) or known.get(name, getattr(builtins, name, None))
    fits = isinstance(own, type) and issubclass(own, Exception) and not issubclass(own, _OF_THEIR_OWN)
    return own if fits and isinstance(own, type) else None


def _made(name: str, bases: tuple[type[Exception], ...], text: str) -> RecordedError:
    """An exception of these types. Their own constructors are passed over, since they may take other arguments."""
    told = {"__module__": bases[0].__module__, "__str__": RecordedError.__str__}
    kind = cast("type[RecordedError]", type(name.replace("\0", ""), bases, told))
    found = kind.__new__(kind, text)
    Exception.__init__(found, text)
    return found


def unwrapped(frame: Frame, type_name: str, text: str) -> tuple[str, str]:
    """The exception of one of the frame's calls as it was: the sandbox turns one whose type it does not know into a
    RuntimeError, and quotes the text of a KeyError once more."""
    for record in reversed(frame.state.records.values()):
        if record.error is not None and (type_name, text) in _in_sandbox(*record.error):
            return record.error
    return type_name, text


def _in_sandbox(type_name: str, text: str) -> Collection[tuple[str, str]]:
    """The forms in which code in the sandbox may raise this exception of a call."""
    return ("RuntimeError", f"{type_name}: {text}"), (type_name, repr(text))


def _plain_exceptions() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {
        kind.__name__: kind for kind in (ValueError, TypeError, KeyError, TimeoutError, RuntimeError, LookupError)
    }
    pending: list[type[errors.ParleyError]] = [errors.ParleyError]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__init__ is Exception.__init__:
            found[kind.__name__] = kind
    return found


_EXCEPTIONS = _plain_exceptions()


class RaisedFailure(Struct, frozen=True):
    error: Exception
    raised_at: RaisedAt


def raised_at(frame: Frame, about: FrameAbout, error: BaseException) -> RaisedAt:
    """The place where `error`, which ends `frame`, was raised: in a playbook that it called, and that
    failed the same way, or in this one."""
    if not frame.alive:  # stopped meanwhile
        return RaisedAt(about.agent, about.playbook)
    error = sole(error)
    if isinstance(error, RecordedError) and error.raised_at is not None:
        return error.raised_at
    state, raised = frame.state, described(error)
    for record in reversed(state.records.values()):
        if record.raised_at is not None and record.error == raised:
            return record.raised_at
    return RaisedAt(about.agent, about.playbook, state.step, lines_of(error))


def lines_of(error: BaseException) -> tuple[str, ...]:
    """The lines of an author's code that led to an exception, the innermost last; those of libraries where there is no
    other. Lines are named by file, number and function; their source is not kept, since it may have secrets."""
    if isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    found = list(_foreign_lines(error.__traceback__))
    own = [line for line, library in found if not library] or [line for line, _ in found]
    return tuple(own[-MAX_LINES:])


def _foreign_lines(found: TracebackType | None) -> Iterator[tuple[str, bool]]:
    """Each line that is not ours, and whether it is a library's."""
    for line, number in traceback.walk_tb(found):
        if str(line.f_globals.get("__name__", "")).partition(".")[0] not in _OWN:
            code = line.f_code
            yield f"{code.co_filename}:{number} in {code.co_name}", code.co_filename.startswith(_LIBRARIES)


def at_work(session: str, frame: Frame) -> Place:
    return session, frame.id, frame.state.agent, frame.state.playbook


class FrameEvents:
    """The events `frame.*` of one session. Each frame that is taken up is let go of exactly once."""

    def __init__(self, journal: Journal, bus: Bus, *, conversation: str, program: str) -> None:
        self._journal = journal
        self._bus = bus
        self._conversation, self._program = conversation, program
        self._begun: set[str] = set()

    @hears(FrameStarted)
    def noted(self, fact: FrameStarted) -> None:
        self._begun.add(fact.frame)

    def taken_up(self, frame: Frame, kind: str) -> happened.FrameAbout:
        """A frame is in memory: it has started, or continues where it was."""
        state, agent = frame.state, frame.agent
        about = happened.FrameAbout(
            self._journal.session,
            self._conversation,
            self._program,
            frame.id,
            caller=None if state.caller is None else state.caller.frame,
            agent_id=state.agent,
            agent=agent.klass,
            playbook=state.playbook,
            kind=kind,
            participant_id=agent.person or self._journal.state.person,
            meeting_id=state.meeting,
        )
        arguments = state.kwargs or state.args
        if frame.id in self._begun:
            self._begun.discard(frame.id)
            self._bus.publish(happened.FrameOpened(about, arguments))
        else:
            self._bus.publish(happened.FrameRestored(about, arguments))
        return about

    def let_go(self, about: happened.FrameAbout, outcome: FrameReturned | None) -> None:
        """It is no more in memory; without an outcome it was stopped, or its session leaves memory."""
        if outcome is None:
            self._bus.publish(happened.FrameStopped(about))
        elif outcome.error is None:
            self._bus.publish(happened.FrameCompleted(about, outcome.value))
        else:
            error_type, error = outcome.error
            self._bus.publish(happened.FrameFailed(about, error_type, error, str(outcome.raised_at)))

    def waits(self, frame: Frame, wait: WaitState) -> None:
        until = None if wait.due is None else datetime.fromtimestamp(wait.due, UTC).isoformat()
        self._bus.publish(happened.FrameWaiting(self._journal.session, frame.id, _whom(wait.source), until))

    def goes_on(self, frame: Frame) -> None:
        self._bus.publish(happened.FrameResumed(self._journal.session, frame.id))


def _whom(source: Mapping[str, Any] | None) -> str:
    """The kind of wait: "people", "meeting", "agents", "task" or "time"."""
    if source is None:
        return "time"
    if source.get("any") or source.get("human"):
        return "people"
    if "task" in source:
        return "task"
    return "meeting" if "meeting" in source else "agents"
