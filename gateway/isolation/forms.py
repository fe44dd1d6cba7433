"""The forms of what passes between a node and the process of a task: JSON data, by the types of the ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter

from runtime.channels.outbox import PageSpec
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment, Mark
from runtime.execution.calls.extensions import ExtensionCall
from runtime.execution.calls.remote import RemoteTool
from runtime.language.program import PlaybookSpec
from runtime.sessions.inbound.received_files import TakenFile
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.memories import Memory
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.stores.timers import Timer
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact

Value = TypeVar("Value")


class Form(Generic[Value]):
    """The form of the values of one type, which is made when it is first used."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._adapter: TypeAdapter[Value] | None = None

    @property
    def _made(self) -> TypeAdapter[Value]:
        if self._adapter is None:
            self._adapter = TypeAdapter(self._kind)
        return self._adapter

    def write(self, value: Value) -> Any:
        """The value as JSON data."""
        return self._made.dump_python(value, mode="json")

    def read(self, data: Any) -> Value:
        """The inverse of `write`. Raises ValueError."""
        return self._made.validate_python(data)


COMMIT: Form[Commit] = Form(Commit)
LEASE: Form[Lease] = Form(Lease)
RECORD: Form[SessionRecord | None] = Form(SessionRecord | None)
SNAPSHOT: Form[Snapshot | None] = Form(Snapshot | None)
FACTS: Form[list[Fact]] = Form(list[Fact])
UNFINISHED: Form[Mapping[str, frozenset[str]]] = Form(dict[str, frozenset[str]])
EVENT: Form[InboxEvent] = Form(InboxEvent)
ENTRY: Form[InboxEntry] = Form(InboxEntry)
ENTRIES: Form[list[InboxEntry]] = Form(list[InboxEntry])
TIMER: Form[Timer] = Form(Timer)
PAGE: Form[PageSpec] = Form(PageSpec)
ADDRESS: Form[Address] = Form(Address)
SPEAKER: Form[Speaker] = Form(Speaker)
MARK: Form[Mark | None] = Form(Mark | None)
FILE: Form[Attachment] = Form(Attachment)
FILES: Form[list[Attachment]] = Form(list[Attachment])
TAKEN: Form[list[TakenFile]] = Form(list[TakenFile])
MEMORIES: Form[list[Memory]] = Form(list[Memory])


@dataclass(frozen=True, slots=True)
class CalledExtension:
    """An `ExtensionCall`, without its function, which its node has."""

    spec: PlaybookSpec
    repeatable: bool
    timeout_s: float
    only_reads: bool

    @classmethod
    def of(cls, call: ExtensionCall) -> Self:
        """The form of a call."""
        return cls(call.spec, call.repeatable, call.timeout_s, call.only_reads)


@dataclass(frozen=True, slots=True)
class Tool:
    """A `RemoteTool`, without the check of its arguments, which is made where it is called."""

    spec: PlaybookSpec
    tool: str
    arguments: Mapping[str, str]
    repeatable: bool
    only_reads: bool

    @classmethod
    def of(cls, tool: RemoteTool) -> Self:
        """The form of a tool."""
        return cls(tool.spec, tool.tool, tool.arguments, tool.repeatable, tool.only_reads)

    def made(self) -> RemoteTool:
        """The inverse of `of`."""
        return RemoteTool(self.spec, self.tool, self.arguments, _unchecked, self.repeatable, self.only_reads)


def _unchecked(_arguments: Mapping[str, Any]) -> str | None:
    return None


TOOLS: Form[list[Tool]] = Form(list[Tool])
