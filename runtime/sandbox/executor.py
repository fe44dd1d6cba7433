"""The port to the place where model-written code runs: one statement at a time, effects only through host calls, and
data as JSON within limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct, field

MAX_DEPTH = 64
MAX_CHARS = 1_000_000
MAX_INT_BITS = 4096
"""The longest whole number, about 1,200 digits: Python does not write much longer ones."""


class HostCall(Struct, frozen=True):
    """A call that the code made to a host function. `number` counts the statement's calls from 0, in the order in
    which their call expressions were evaluated."""

    number: int
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class CallOutcome(Struct, frozen=True):
    """The outcome of a host call: a value, or an exception by type name and text."""

    value: Any = None
    error: tuple[str, str] | None = None


class GuestError(Struct, frozen=True):
    """The failure of the code: exception type and text."""

    type: str
    text: str


class CodeSnippet(Struct, frozen=True):
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


class SnippetEvaluation(Protocol):
    """A snippet in execution. It runs until it waits for host calls or has ended; then it is quiet."""

    async def start(self) -> None:
        """Run until quiet for the first time."""

    def take_calls(self) -> Sequence[HostCall]:
        """The calls made since the last request, in order."""

    async def resolve(self, number: int, outcome: CallOutcome, /) -> None:
        """Hand out one result and run until quiet again."""

    @property
    def ended(self) -> bool: ...

    @property
    def error(self) -> GuestError | None:
        """The reason for a failure, broken limits included; None otherwise."""

    @property
    def kept(self) -> Mapping[str, Any]:
        """The values of `Snippet.keep` that exist at the end, as JSON data. Raises SandboxError for a value that is
        not data, naming the variable."""


class Sandbox(Protocol):
    """Runs snippets within limits of time, memory and calls; a broken snippet never harms the host."""

    def evaluate(self, snippet: CodeSnippet, /) -> AbstractAsyncContextManager[SnippetEvaluation]:
        """An evaluation; leaving the context ends it, finished or not."""


class NotData(ValueError):
    """The value is no JSON data, or too big or too deep."""


def as_data(value: Any, *, max_chars: int = MAX_CHARS) -> Any:
    """`value` as JSON data: tuples become lists, plain keys become strings.

    `max_chars` bounds the characters of all strings together, counting every other value as eight. Raises NotData.
    """
    left = max_chars

    def spend(amount: int) -> None:
        nonlocal left
        left -= amount
        if left < 0:
            raise NotData(f"it has more than {max_chars} characters of data")

    return _copied(value, spend, MAX_DEPTH)


def _copied(value: Any, spend: Callable[[int], None], depth: int) -> Any:
    if depth == 0:
        raise NotData(f"it is nested more than {MAX_DEPTH} deep")
    spend(len(value) if type(value) is str else 8)
    if value is None or type(value) in (bool, float, str):
        return value
    if type(value) is int:
        if value.bit_length() > MAX_INT_BITS:
            raise NotData(f"it has a number of more than {MAX_INT_BITS} bits")
        return value
    if isinstance(value, list | tuple):
        return [_copied(item, spend, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_key(key, spend): _copied(item, spend, depth - 1) for key, item in value.items()}
    raise NotData(f"a value of type {type(value).__name__} is not JSON data")


def _key(key: object, spend: Callable[[int], None]) -> str:
    if type(key) is str:
        spend(len(key))
        return key
    if type(key) is int and key.bit_length() <= MAX_INT_BITS:
        return str(key)
    raise NotData(f"a key of type {type(key).__name__} is not JSON data")
