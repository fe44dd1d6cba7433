"""Outcomes of calls, in the forms of facts and of code."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping, Sequence

from runtime.core.errors import (
    LLMKeyRefused,
    LLMNotOffered,
    LLMProcessLost,
    LLMQuotaSpent,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
    NoUsableAnswer,
    ParleyError,
    PlaybookError,
    VerificationError,
)
from runtime.core.plain_text import error_text
from runtime.core.texts import Texts
from runtime.execution.frames.frame import Call, Frame
from runtime.tape.facts.content import NOTHING

_PLACE = re.compile(r"\b\w+:\d+(?:\.\d+)*:[A-Z]{3}: ")
"""The location of a step at the start of an error, as in `Main:02.01:QUE: `."""

_TOLD_BARE = frozenset({PlaybookError.__name__, VerificationError.__name__, NoUsableAnswer.__name__})
"""Exceptions whose text says everything."""


_OF_MODELS = {
    LLMUnavailable.__name__: "session.model_unreachable",
    LLMProcessLost.__name__: "session.model_unreachable",
    LLMTimeout.__name__: "session.model_slow",
    LLMRateLimited.__name__: "session.model_busy",
    LLMRefused.__name__: "session.model_refused",
    LLMKeyRefused.__name__: "session.model_key_refused",
    LLMNotOffered.__name__: "session.model_refused",
    LLMQuotaSpent.__name__: "session.model_quota_spent",
}
"""The text for people when the model gave no answer; the log has the provider's words."""


def waits_by(error: Exception, texts: Texts) -> str:
    """The text for people where a playbook waits, because of an error, until somebody writes again."""
    of_model = _OF_MODELS.get(type(error).__name__)
    if of_model is None:
        return texts("session.trouble", error=error)
    return texts("session.model_gone", error=texts(of_model))


def site(frame: Frame, call: Call) -> tuple[str, str, str, str]:
    """A fact's reference to a call: frame, position, name and digest."""
    return frame.id, call.pos, call.name, call.digest


def described(error: BaseException) -> tuple[str, str]:
    """An exception as data: its type's name and its text, shortened if needed."""
    if isinstance(error, RaisedByPlaybook):
        return error.type_name, error.text
    return type(error).__name__, error_text(error)


def reason(error: Sequence[str], texts: Texts) -> str:
    """The reason for a failure, for people: without the rule that a model broke, and without a place in the program."""
    name, text = error
    if name == NoUsableAnswer.__name__:
        return texts("session.no_usable_answer")
    return _PLACE.sub("", text).rstrip(".")


class RaisedByPlaybook(PlaybookError):
    """An exception from another playbook: its type's name and text, as in the journal."""

    def __init__(self, type_name: str, text: str) -> None:
        # not `super()`: the type that `rebuilt` adds may be an author's, which takes other arguments
        Exception.__init__(self, text if type_name in _TOLD_BARE else f"{type_name}: {text}")
        self.type_name = type_name
        self.text = text

    def __str__(self) -> str:
        return str(self.args[0])


def rebuilt(error: tuple[str, str], known: Mapping[str, object] = NOTHING) -> Exception:
    """The exception in a record: one of ours or a frequent built-in one, else RaisedByPlaybook.

    That is of the exception's own type too, where Python or the code that gets it, with the names `known`, has one of
    that name: `except` finds it by either. What it had beside its text is lost.
    """
    name, text = error
    kind = _EXCEPTIONS.get(name)
    if kind is not None:
        return kind(text)
    own = known.get(name, getattr(builtins, name, None))
    if not isinstance(own, type) or not issubclass(own, Exception) or issubclass(own, _STOPS_ITERATION):
        return RaisedByPlaybook(name, text)
    return _both(own)(name, text)


_STOPS_ITERATION = (StopIteration, StopAsyncIteration)
"""Python takes them for something else when a coroutine raises them."""


def _both(own: type[Exception]) -> type[RaisedByPlaybook]:
    try:
        return type(own.__name__, (RaisedByPlaybook, own), {"__module__": own.__module__})
    except TypeError:  # one of its bases cannot be combined
        return RaisedByPlaybook


def unwrapped(type_name: str, text: str) -> tuple[str, str]:
    """The original exception, if the sandbox turned it into a RuntimeError because it does not know its type."""
    kind, colon, rest = text.partition(": ")
    return (kind, rest) if type_name == "RuntimeError" and colon and kind in _EXCEPTIONS else (type_name, text)


def _plain_exceptions() -> dict[str, type[Exception]]:
    found: dict[str, type[Exception]] = {
        kind.__name__: kind for kind in (ValueError, TypeError, KeyError, TimeoutError, RuntimeError, LookupError)
    }
    pending: list[type[ParleyError]] = [ParleyError]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__init__ is Exception.__init__:
            found[kind.__name__] = kind
    return found


_EXCEPTIONS = _plain_exceptions()
