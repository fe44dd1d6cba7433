"""The port to the place where model-written code runs: one statement at a time, effects only through host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call that the code made to a host function. `number` counts the statement's calls from 0, in the order in
    which their call expressions were evaluated."""

    number: int
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a host call: a value, or an exception by type name and text."""

    value: Any = None
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class GuestError:
    """The failure of the code: exception type, text and the line of the statement (from 1)."""

    type: str
    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """A statement to run.

    `names` are the variables it sees (JSON data). `functions` are the host functions it may call, dotted names
    included (`Agent.Playbook`). `prelude` are earlier definitions (def, import) it relies on. `keep` are the names
    whose values are wanted afterwards.
    """

    source: str
    names: Mapping[str, Any] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    prelude: Sequence[str] = ()
    keep: Sequence[str] = ()


class Evaluation(Protocol):
    """A snippet in execution. It runs until it waits for host calls or has ended; then it is quiet."""

    async def start(self) -> None:
        """Run until quiet for the first time."""
        ...

    def take_calls(self) -> Sequence[HostCall]:
        """The calls made since the last request, in order."""
        ...

    async def resolve(self, number: int, outcome: CallOutcome, /) -> None:
        """Hand out one result and run until quiet again."""
        ...

    @property
    def ended(self) -> bool: ...

    @property
    def error(self) -> GuestError | None:
        """The reason for a failure, broken limits included; None otherwise."""
        ...

    @property
    def kept(self) -> Mapping[str, Any]:
        """The values of `Snippet.keep` that exist at the end, as JSON data. Raises SandboxError for a value that is
        not data, naming the variable."""
        ...


class Sandbox(Protocol):
    """Runs snippets within limits of time, memory and calls; a broken snippet never harms the host."""

    def evaluate(self, snippet: Snippet, /) -> AbstractAsyncContextManager[Evaluation]:
        """An evaluation; leaving the context ends it, finished or not."""
        ...
