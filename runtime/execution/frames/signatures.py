"""The signatures of calls: what each takes, and how its arguments are read.

A built-in call is one decorated method. The checks of its arguments, the model's line about it and its row in the
documentation are made from its signature and its docstring.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from math import nan
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from msgspec import Struct

from runtime.core.errors import PlaybookError
from runtime.core.message import MessageType
from runtime.execution.frames.frame import Frame, FrameCall, shortened
from runtime.execution.frames.outcomes import site
from runtime.language.program import Param
from runtime.language.value_types import coerced
from runtime.tape.facts.frames import CallReturned

Later = Callable[[], Awaitable[None]] | None
"""What is still to be awaited of a call; None when it is done."""

Function = TypeVar("Function", bound=Callable[..., Any])

Reader = Callable[[Any], Any]
"""Reads an argument. Raises ValueError with what the call takes: "a time in seconds, not 'soon'"."""

_DECLARED: dict[Callable[..., Any], Sequence[CallSignature]] = {}

MAX_TYPE_CHARS = 60
"""The length of a type of messages that programs made up."""

LONGEST_WAIT_S = 10 * 366 * 86_400.0
"""Ten years: what is to be waited for longer than that is a mistake."""


class CallShape(Struct, frozen=True):
    """The parameters of a call. `names` are in order, `required` is the number that must be given."""

    names: tuple[str, ...]
    required: int
    more: bool = False
    """Whether further names may be given."""

    @classmethod
    def of(cls, params: Sequence[Param], *, more: bool = False) -> CallShape:
        return cls(tuple(p.name for p in params), sum(p.default is None for p in params), more)

    def argument(self, node: ast.Call, index: int) -> ast.expr | None:
        """The argument for the parameter at `index`; None when the text of the call does not show it."""
        if any(isinstance(a, ast.Starred) for a in node.args[: index + 1]) or index >= len(self.names):
            return None
        if index < len(node.args):
            return node.args[index]
        return next((k.value for k in node.keywords if k.arg == self.names[index]), None)

    def mismatch(self, node: ast.Call) -> str | None:
        """The error in a call; None when it fits. Calls with `*` or `**` are checked when they are made."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        return self.misfit(len(node.args), [k.arg for k in node.keywords if k.arg])

    def misfit(self, positional: int, named: Sequence[str]) -> str | None:
        """The error in a call with this number of arguments in order and these by name; None when they fit."""
        if positional > len(self.names):
            many = "argument" if len(self.names) == 1 else "arguments"
            named_so = f" ({', '.join(self.names)})" if self.names else ""
            return f"takes {len(self.names)} {many}{named_so}, not {positional}"
        given = [*self.names[:positional], *named]
        for name in given:
            if name not in self.names and not self.more:
                return f"has no parameter {name!r}; it takes {', '.join(self.names) or 'nothing'}"
            if given.count(name) > 1:
                return f"is given {name!r} twice"
        missing = [name for name in self.names[: self.required] if name not in given]
        return f"needs {missing[0]!r}; it takes {', '.join(self.names)}" if missing else None


class CallSignature(Struct, frozen=True):
    """A built-in call as it is declared.

    `begins` is whether the function begins it at once, `returns` whether its value is the call's result. `does` is the
    docstring. `reads`: it changes nothing; `sends`: it is a message; `whole`: a model sees its result whole.
    """

    name: str
    params: tuple[Param, ...]
    shape: CallShape
    readers: Mapping[str, Reader]
    function: Callable[..., Any]
    hosted: tuple[type, ...]
    """Which of frame and call the function takes first."""
    begins: bool
    returns: bool
    does: str
    example: str
    form: str
    reads: bool
    sends: bool
    whole: bool

    def corrected(self, wrong: str) -> str:
        """An error in a call, with how it is written where that is often wrong."""
        return f"{wrong.partition(';')[0]}; it is called as {self.form}" if self.form else wrong

    def arguments(self, call: FrameCall) -> dict[str, Any]:
        """The arguments by name, as the function takes them. None means the default. Raises PlaybookError."""
        wrong = self.shape.misfit(len(call.args), tuple(call.kwargs))
        if wrong is not None:
            raise PlaybookError(f"{self.name} {self.corrected(wrong)}")
        given = dict(zip(self.shape.names, call.args, strict=False)) | dict(call.kwargs)
        for name in self.shape.names[self.shape.required :]:
            if name in given and given[name] is None:
                del given[name]
        try:
            return {name: self.readers[name](value) if name in self.readers else value for name, value in given.items()}
        except ValueError as error:
            raise PlaybookError(f"{self.name} takes {error}") from error

    @property
    def told(self) -> str:
        """The call's purpose, for models: an example and the first paragraph of the docstring."""
        does = self.does.partition("\n\n")[0].rstrip(".")
        return f"`{self.example}` {does[:1].lower()}{does[1:]}"


class BuiltinCall(Struct, eq=False):  # each session in memory has dozens
    _signature: CallSignature
    _owner: object

    def __call__(self, frame: Frame, call: FrameCall) -> Later:
        """Begin to execute a call, whose result is a fact. What had to wait is durable when it has ended."""
        signature = self._signature
        hosted = (frame if kind is Frame else call for kind in signature.hosted)
        execute = partial(signature.function, self._owner, *hosted, **signature.arguments(call))
        return cast("Later", execute()) if signature.begins else partial(self._execute, frame, call, execute)

    async def _execute(self, frame: Frame, call: FrameCall, execute: Callable[[], Any]) -> None:
        value = execute()
        waits = inspect.isawaitable(value)
        if waits:
            value = await value
        if self._signature.returns:
            frame.journal.note(CallReturned(*site(frame, call), value=value))
            if waits:
                await frame.journal.commit()


def call(
    *names: str, example: str = "", form: str = "", reads: bool = False, sends: bool = False, whole: bool = False
) -> Callable[[Function], Function]:
    """Let programs call the decorated method by `names`.

    Its first parameters may be the Frame and the Call, which the host gives; the others are the call's own, and
    `**name` takes any further ones. An annotation is a type of the language, `Any`, or `Annotated` with a `Reader`.
    The value is the call's result, unless it is annotated as None or `Later`: then the method notes the result itself.
    One that gives a `Later` is begun at once, before calls that were made earlier perhaps; all others have a task.

    The docstring is for authors, its first paragraph also for models, behind the `example`. `form` is shown where a
    call is written wrongly.
    """

    def declare(function: Function) -> Function:
        signature = inspect.signature(function, eval_str=True)
        gives = signature.return_annotation
        own = list(signature.parameters.values())[1:]
        hosted = tuple(one.annotation for one in own if one.annotation in (Frame, FrameCall))
        own = own[len(hosted) :]
        more = bool(own) and own[-1].kind is inspect.Parameter.VAR_KEYWORD
        own = own[:-1] if more else own
        params = parameters(names[0], own)
        readers = {one.name: reader for one in own if (reader := _reader(one)) is not None}
        shape = CallShape.of(params, more=more)
        does = "\n\n".join(one.replace("\n", " ") for one in (inspect.getdoc(function) or "").split("\n\n"))
        _DECLARED[function] = [
            CallSignature(
                name=name,
                params=params,
                shape=shape,
                readers=readers,
                function=function,
                hosted=hosted,
                begins=gives == Later,
                returns=gives not in (None, Later),
                does=does,
                example=example,
                form=form,
                reads=reads,
                sends=sends,
                whole=whole,
            )
            for name in names
        ]
        return function

    return declare


def declared(owner: type) -> Iterator[CallSignature]:
    for member in vars(owner).values():
        if inspect.isfunction(member):
            yield from _DECLARED.get(member, ())


def calls_of(*owners: object) -> dict[str, BuiltinCall]:
    return {one.name: BuiltinCall(one, owner) for owner in owners for one in declared(type(owner))}


def parameters(name: str, own: Iterable[inspect.Parameter]) -> tuple[Param, ...]:
    """The parameters of a Python function as those of a call. Raises ValueError for one that no program can give by its
    name."""
    return tuple(_param(name, one) for one in own)


def _param(name: str, one: inspect.Parameter) -> Param:
    if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY):
        raise ValueError(f"{name} has the parameter {one}, which no program can give by its name")
    default = None if one.default is one.empty else repr(one.default)
    return Param(one.name, type=type_text(one.annotation), default=default)


def type_text(annotation: Any) -> str | None:
    """An annotation as a type of the language; None where it takes everything."""
    if annotation is inspect.Parameter.empty or annotation in ("Any", Any):
        return None
    annotation = _bare(annotation)
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return str(annotation)


def _bare(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return reduce(or_, map(_bare, get_args(annotation)))
    return annotation


def _reader(param: inspect.Parameter) -> Reader | None:
    for part in (param.annotation, *get_args(param.annotation)):
        if get_origin(part) is Annotated:
            found: Reader = part.__metadata__[0]
            return found
    type_ = type_text(param.annotation)
    return None if type_ is None else partial(_typed, param.name, type_)


def _typed(param: str, type_: str, value: Any) -> Any:
    try:
        found = coerced(value, type_)
    except ValueError:
        found = None
    if found is None:
        raise ValueError(f"{param} as {type_}, not {shortened(repr(value))}")
    return found


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = nan
    if not seconds <= LONGEST_WAIT_S:
        raise ValueError(f"a time in seconds, at most {LONGEST_WAIT_S:.0f}, not {value!r}")
    return max(0.0, seconds)


def own_type(given: Any) -> str:
    """The type of a message that programs made up. Raises ValueError for one of Parley's, and for no name."""
    plain = isinstance(given, str) and given.isidentifier() and given.isascii() and given == given.lower()
    if not isinstance(given, str) or not plain or len(given) > MAX_TYPE_CHARS:
        raise ValueError(f"a type that is a name such as 'status_update', not {given!r}")
    if given in set(MessageType):
        raise ValueError(f"no type that only Parley gives, such as {given!r}; choose another name")
    return given


def variable_name(given: Any) -> str:
    return str(given).removeprefix("$")


Seconds = Annotated[float, _seconds]
"""A time to wait."""

OwnType = Annotated[str, own_type]
VariableName = Annotated[str, variable_name]
