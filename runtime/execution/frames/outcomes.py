"""What calls come to, as facts say it and code sees it."""

from __future__ import annotations

from typing import Any

from runtime.core.errors import ParleyError, PlaybookError
from runtime.execution.frames.frame import Call, Frame


def site(frame: Frame, call: Call) -> dict[str, Any]:
    """The keys of a fact about `call`."""
    return {"f": frame.id, "pos": call.pos, "name": call.name, "dig": call.digest}


def described(error: BaseException) -> list[str]:
    """An exception as data: its type's name and its text."""
    if isinstance(error, RaisedByPlaybook):
        return [error.type_name, error.text]
    return [type(error).__name__, str(error)]


class RaisedByPlaybook(PlaybookError):
    """An exception that crossed a playbook's border: its type's name and text, as the journal keeps them."""

    def __init__(self, type_name: str, text: str) -> None:
        super().__init__(text if type_name in ("PlaybookError", "VerificationError") else f"{type_name}: {text}")
        self.type_name = type_name
        self.text = text


def rebuilt(error: tuple[str, str]) -> Exception:
    """The exception that a record stands for: the built-in type or ours where there is one, else RaisedByPlaybook."""
    name, text = error
    kind = _EXCEPTIONS.get(name)
    return kind(text) if kind is not None else RaisedByPlaybook(name, text)


def unwrapped(type_name: str, text: str) -> tuple[str, str]:
    """An exception as it was raised, when the sandbox, which does not know its type, made a RuntimeError of it."""
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
