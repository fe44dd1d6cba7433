"""The context that every session of a node shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.outbox import Outbox
from runtime.core.address import SCRATCH, Address
from runtime.core.clock import Clock
from runtime.core.texts import Texts, english
from runtime.execution.calls.remote import RemoteServers, RemoteTools
from runtime.execution.execution_context import TRANSCRIPT_CHARS
from runtime.execution.session_context import WatchSession
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.meetings.meeting import MeetingHabits
from runtime.sandbox.executor import Sandbox
from runtime.sessions.features import NodePart, alone
from runtime.sessions.idle import RestingSessions
from runtime.sessions.inbound.arrivals import PastSource
from runtime.sessions.versions import NoVersions, ProgramVersions
from runtime.stores.sessions import PlaceStore, SessionStore

Busy = Literal["queue", "steer", "interrupt"]
"""What becomes of a person's message to an agent at work: handled afterwards, shown to the work, or instead of it."""


class ProgramHabits(Struct, frozen=True):
    """How programs are executed. By their names: what becomes of messages to agents at work, "queue" where it says
    nothing, and what answers where a program does not say. The past of a playbook is summed up when it has more than
    `transcript_chars`. `alone`: each question is asked alone, for small models. `seen`: other programs see events."""

    busy: Mapping[str, Busy] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    transcript_chars: int = TRANSCRIPT_CHARS
    alone: bool = False
    meetings: MeetingHabits = field(default_factory=MeetingHabits)
    seen: bool = False


class NodeContext(Struct, frozen=True):
    """The parts that all sessions of a node share.

    `programs` are those served now, by the name that a conversation's record keeps. Without `places` meetings are held
    where their sessions live. `texts_on` are the texts of platforms by name, with commands as they are written there;
    where it says nothing, `texts` are. `debugger` watches the sessions, where somebody debugs.
    """

    programs: Mapping[str, Program]
    store: SessionStore
    outbox: Outbox
    sandbox: Sandbox
    llm: LLMClient
    bus: Bus
    past: PastSource | None = None
    """Knows what was said in a place before; None where nobody is asked."""
    texts: Texts = field(default_factory=english)
    texts_on: Mapping[str, Texts] = field(default_factory=dict)
    habits: ProgramHabits = field(default_factory=ProgramHabits)
    features: Sequence[NodePart] = ()
    places: PlaceStore | None = None
    debugger: WatchSession | None = None
    resting: RestingSessions = field(default_factory=RestingSessions)
    versions: ProgramVersions = field(default_factory=NoVersions)

    @property
    def clock(self) -> Clock:
        return self.bus.clock

    @property
    def task_places(self) -> Mapping[str, Address]:
        """The conversations that may be told what came of work, by the names that programs use."""
        return {name: place for one in self.features for name, place in one.places.items()}

    @property
    def tools(self) -> RemoteTools:
        return next((one.tools for one in self.features if one.tools is not None), RemoteTools(RemoteServers()))

    def on(self, platform: str) -> NodeContext:
        """The context with the texts of a platform. Of what a scratch room does, nothing goes anywhere else."""
        if platform == SCRATCH:
            return replace(self, places=None, habits=replace(self.habits, seen=False), features=alone(self.features))
        texts = self.texts_on.get(platform, self.texts)
        return self if texts is self.texts else replace(self, texts=texts)

    def program(self, name: str) -> Program:
        """The program of that name. A program that is not served (now) has no agents."""
        return self.programs.get(name) or Program(name, (), "", "")
