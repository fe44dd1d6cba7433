"""The content of facts: a frozen class for each kind, and its stored form, which is generated from the class once.

A class names each field's key on the tape. Reading takes what older versions wrote: keys that are not there have a
default, or another name that they once had. Keys that are not known are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from msgspec import NODEFAULT, Struct, defstruct

from runtime.core.address import Address, address_data
from runtime.core.ids import AgentId, participant_id, person_id
from runtime.core.message import Attachment, FilePart, message_from_data, message_to_data, settled_message
from runtime.tape.state.frames import CallSite, RaisedAt

Kind = TypeVar("Kind", bound="FactContent")

_IDS: Mapping[str, Callable[[str], Any]] = {
    "AgentId": AgentId,
    "PersonId": person_id,
    "ParticipantId": participant_id,
}
"""How a field with an id is read, by the first word of its type; it is written as it is."""

KINDS: dict[str, type[FactContent]] = {}
"""Every kind of fact, by its name on the tapes."""

_SCALARS = frozenset({"int", "bool", "float", "int | None", "bool | None", "float | None"})

_SHORT_CHARS = 5_000
"""A longer text is settled the slow way, which knows the bounds."""

_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "frame_id": ("f",),
    "page_id": ("page",),
    "agent_id": ("agent", "host"),
}


NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The default of a field that maps names."""


class StoredForm(Struct, frozen=True):
    """The stored form of a value that is no JSON data."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    settle: Callable[[Any, Callable[[Any], Any]], tuple[Any, Any]] | None = None
    """Both in one, with what makes a copy: the stored form, and the value that is read from it."""


MESSAGE = StoredForm(message_to_data, message_from_data, settled_message)
ADDRESS = StoredForm(address_data, lambda data: Address(*data))
ERROR = StoredForm(list, tuple)
CALL_SITE = StoredForm(
    lambda site: {
        "frame": site.frame,
        "pos": site.pos,
        "name": site.name,
        "digest": site.digest,
        "hidden": site.hidden,
    },
    lambda data: CallSite(**data),
)
RAISED_AT = StoredForm(
    lambda place: [place.agent, place.playbook, place.step, list(place.lines)],
    lambda data: RaisedAt(data[0], data[1], data[2], tuple(data[3])),
)
ATTACHMENT = StoredForm(
    lambda file: [file.name, file.media_type, file.url, file.size_bytes, *([file.note] if file.note else [])],
    lambda data: Attachment(data[0], data[1], data[2], data[3], note="".join(data[4:])),
)
ATTACHMENTS = StoredForm(
    lambda files: [ATTACHMENT.write(file) for file in files], lambda data: tuple(map(ATTACHMENT.read, data))
)
URLS = StoredForm(list, tuple)
FILE_PARTS = StoredForm(
    lambda parts: [[part.kind, part.url, part.size_bytes, part.page] for part in parts],
    lambda data: tuple(FilePart(*part) for part in data),
)
PARTICIPANTS = StoredForm(lambda ids: [str(id_) for id_ in ids], lambda data: [participant_id(text) for text in data])
PARTS = StoredForm(
    lambda parts: {str(part): pid for part, pid in parts.items()},
    lambda data: {int(part): pid for part, pid in data.items()},
)


def _id_of(part: _Part) -> Callable[[str], Any] | None:
    return _IDS.get(part.type.removesuffix(" | None"))


class FactContent(Struct, frozen=True):
    """The content of a fact. `data` is the stored form, JSON data once `as_data` has gone through it."""

    kind: ClassVar[str] = ""
    keys: ClassVar[Mapping[str, Any]] = {}
    """How each field is stored."""
    on_session_tape: ClassVar[bool] = False
    """Whether it is a fact of the session's own tape, whatever it refers to."""

    def data(self) -> dict[str, Any]:
        _equip(type(self))
        return self.data()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """From the stored form. Raises LookupError where a key is missing."""
        _equip(cls)
        return cls.read(data)

    def settled(self, copy: Callable[[Any], Any]) -> tuple[dict[str, Any], Self] | None:
        """The stored form and the content as they read after a restart; None where that takes more than `copy`.

        `copy` is given each value that could change. It is the fast way of what `data` and `read` do.
        """
        _equip(type(self))
        return self.settled(copy)

    def frame_id(self) -> str | None:
        """The frame that it is about, if one."""
        return None

    def page_id(self) -> str | None:
        """The page that it is about, if one."""
        return None

    def agent_id(self) -> str | None:
        """The agent that it is about, if one: a meeting's is its host."""
        return None

    def owes(self) -> str | None:
        """The page that the outbox gains by it, if any."""
        return None

    def pays(self) -> str | None:
        """The page that the outbox loses by it, if any."""
        return None


class _Key(Struct, frozen=True):
    """The stored form of a field; see `key`."""

    name: str
    default: Any
    form: StoredForm | None
    older: str | None
    always: bool
    when: Callable[[Any], bool] | None
    first: bool


def key(  # noqa: PLR0913 - as `msgspec.field`
    name: str,
    *,
    default: Any = NODEFAULT,
    form: StoredForm | None = None,
    older: str | None = None,
    always: bool = False,
    when: Callable[[Any], bool] | None = None,
    first: bool = False,
) -> Any:
    """A field by its key on the tape.

    One with a default is left out where it is empty, unless it is `always` written, or `when` holds of the fact.
    `older` is a name that the key once had. `first` ones are written before the others.
    """
    return _Key(name, default, form, older, always, when, first)


@dataclass_transform(frozen_default=True, field_specifiers=(key,))
def fact(kind: str, *, session: bool = False) -> Callable[[type[Kind]], type[Kind]]:
    """Make a class the content of facts of this kind; `session`: on the session's own tape."""

    def declare(declared: type[Kind]) -> type[Kind]:
        keys: Mapping[str, _Key] = dict(zip(declared.__struct_fields__, declared.__struct_defaults__, strict=True))
        parts = [(name, declared.__annotations__[name], stored.default) for name, stored in keys.items()]
        of = declared.__module__
        made: Any = defstruct(
            declared.__name__, parts, bases=(FactContent,), module=of, namespace=_body(declared), frozen=True
        )
        made.kind, made.on_session_tape, made.keys = kind, session, keys
        for method, names in _REFERENCES.items():
            part = next((part for one in names for part, stored in keys.items() if stored.name == one), None)
            if part is not None:
                setattr(made, method, _reference(part))
        KINDS[kind] = made
        return cast("type[Kind]", made)

    return declare


def _body(declared: type[Struct]) -> dict[str, Any]:
    """What a class defines besides its fields."""
    made = {"__dict__", "__weakref__", "__slots__", "__match_args__", "__annotations__", *declared.__struct_fields__}
    return {name: value for name, value in vars(declared).items() if name not in made and name[:8] != "__struct"}


@cache
def _reference(part: str) -> Callable[[FactContent], Any]:
    return lambda fact: getattr(fact, part)


# -- the methods, generated when they are first asked for


class _Part(Struct, frozen=True):
    """A field, its type as it is written, and how it is stored."""

    name: str
    type: str
    stored: _Key

    @property
    def default(self) -> Any:
        return self.stored.default


def _parts(made: type[FactContent], *, as_written: bool = False) -> list[_Part]:
    parts = [_Part(name, made.__annotations__[name], stored) for name, stored in made.keys.items()]
    return sorted(parts, key=lambda part: not part.stored.first) if as_written else parts


def _equip(made: type[FactContent]) -> None:
    names: dict[str, Any] = {f"_default_{part.name}": part.default for part in _parts(made)}
    source = [*_writing(made, names), *_reading(made, names), *_settling(made, names)]
    exec(compile("\n".join(source), f"<fact {made.kind}>", "exec"), names)  # noqa: S102 - our own text, once a class
    made.data = names["data"]  # type: ignore[method-assign]
    made.read = classmethod(names["read"])  # type: ignore[assignment, method-assign]
    made.settled = names["settled"]  # type: ignore[method-assign]


def _writing(made: type[FactContent], names: dict[str, Any]) -> list[str]:
    leading, rest = [], []
    for part in _parts(made, as_written=True):
        value, stored = f"self.{part.name}", part.stored
        if stored.form is not None:
            names[f"_write_{part.name}"] = stored.form.write
            written = f"_write_{part.name}({value})"
            value = f"({written} if {value} is not None else None)" if part.default is None else written
        elif part.default is NOTHING:
            value = f"({value} or {{}})"
        if part.default is not NODEFAULT and not stored.always:
            there = f"self.{part.name}" + (" is not None" if part.default is None else "")
            if stored.when is not None:
                names[f"_when_{part.name}"] = stored.when
                there += f" or _when_{part.name}(self)"
            rest.append(f"    if {there}: data[{stored.name!r}] = {value}")
        elif rest:
            rest.append(f"    data[{stored.name!r}] = {value}")
        else:
            leading.append(f"{stored.name!r}: {value}")
    return ["def data(self):", f"    data = {{{', '.join(leading)}}}", *rest, "    return data"]


def _reading(made: type[FactContent], names: dict[str, Any]) -> list[str]:
    arguments = []
    for part in _parts(made):
        stored = part.stored
        if part.default is NODEFAULT:
            value = f"data[{stored.name!r}]"
            if stored.older is not None:
                value = f"(get({stored.name!r}) or data[{stored.older!r}])"
        else:
            value = f"get({stored.name!r})"
            if part.default is not None:
                value = f"({value} or _default_{part.name})"
        read_as = stored.form.read if stored.form is not None else _id_of(part)
        if read_as is not None:
            names[f"_read_{part.name}"] = read_as
            read = f"_read_{part.name}({value})"
            value = read if part.default is NODEFAULT else f"({read} if get({stored.name!r}) else _default_{part.name})"
        arguments.append(value)
    return ["def read(cls, data):", "    get = data.get", f"    return cls({', '.join(arguments)})"]


def _settling(made: type[FactContent], names: dict[str, Any]) -> list[str]:
    """`data` and `read` in one: values that cannot change are taken as they are."""
    checks, leading, rest, arguments = [], [], [], []
    for part in _parts(made):
        name, hint, stored = part.name, part.type, part.stored
        arguments.append(f"n_{name}")
        checks.append(f"    n_{name} = v_{name} = self.{name}")
        long = f"v_{name}.__class__ is not str or not v_{name}.isascii() or len(v_{name}) > {_SHORT_CHARS}"
        if stored.name in ("exc", "why"):
            checks.append(f"    if v_{name} is not None: return None")
        elif _id_of(part) is not None:
            checks.append(f"    if v_{name} is not None:")
            checks.append(f"        if not v_{name}.isascii() or len(v_{name}) > {_SHORT_CHARS}: return None")
            checks.append(f"        if v_{name}.__class__ is str: n_{name} = _read_{name}(v_{name}); same = False")
        elif hint == "str":
            checks.append(f"    if {long}: return None")
        elif hint == "str | None":
            checks.append(f"    if v_{name} is not None and ({long}): return None")
        elif hint not in _SCALARS:
            empty = f"v_{name} is None" if part.default in (None, NODEFAULT) else f"v_{name} is _default_{name}"
            checks += [f"    if not ({empty}):", f"        {_settling_one(name, stored.form, names)}"]
    for part in _parts(made, as_written=True):
        stored = part.stored
        value = f"v_{part.name}" if part.default is not NOTHING else f"(v_{part.name} or {{}})"
        value = value if part.default != () else f"(v_{part.name} or [])"
        if part.default is not NODEFAULT and not stored.always:
            there = f"v_{part.name}" + (" is not None" if part.default is None else "")
            there += f" or _when_{part.name}(self)" if stored.when is not None else ""
            rest.append(f"    if {there}: data[{stored.name!r}] = {value}")
        elif rest:
            rest.append(f"    data[{stored.name!r}] = {value}")
        else:
            leading.append(f"{stored.name!r}: {value}")
    made_anew = f"self if same else self.__class__({', '.join(arguments)})"
    body = [*checks, f"    data = {{{', '.join(leading)}}}", *rest, f"    return data, {made_anew}"]
    return ["def settled(self, copy):", "    same = True", *body]


def _settling_one(name: str, form: StoredForm | None, names: dict[str, Any]) -> str:
    """The line for a value that may change, or has a form of its own."""
    if form is None:
        return f"n_{name} = v_{name} = copy(v_{name}); same = False"
    if form.settle is None:
        return f"v_{name} = copy(_write_{name}(v_{name})); n_{name} = _read_{name}(v_{name}); same = False"
    names[f"_settle_{name}"] = form.settle
    return f"v_{name}, n_{name} = _settle_{name}(v_{name}, copy); same &= n_{name} is self.{name}"
