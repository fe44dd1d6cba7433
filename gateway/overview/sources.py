"""Sources of the views of the gateway, and the check of who may ask for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from gateway.access.people import AccessRequest, People
from gateway.clients.admission import Admission, Client
from gateway.clients.closed_rooms import ClosedRooms
from gateway.clients.scopes import CONSOLE
from gateway.cluster.drains import Drains
from gateway.inbound.person_limits import PersonLimits
from gateway.jobs.erasure import Erased
from gateway.jobs.task_register import TaskRegister
from gateway.overview.moments import Moments
from gateway.overview.questions.open import QuestionsView
from gateway.overview.saving.talks import TalkMaker
from gateway.overview.scratch.rooms import ScratchRooms
from gateway.tapes.journals import Journals
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import Inbox
from runtime.stores.operation.dead_letters import DeadLetters
from runtime.stores.operation.nodes import Living
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import TapeReader

_READ_ONLY = (
    "You can only look here: owners change something at the console where the settings have console.acts = true."
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The stores behind the views. `delete` takes a session out for good, `forget` all that is stored of a person, and
    `export` gives the lines of a session's file. `tell_approved` has somebody hear that they were let in, `tell_nodes`
    the nodes look at what is to be drained."""

    admission: Admission
    rooms: ClosedRooms
    catalog: SessionCatalog
    tapes: TapeReader
    letters: DeadLetters
    people: People
    person_limits: PersonLimits
    moments: Moments
    questions: QuestionsView
    scratch: ScratchRooms
    talks: TalkMaker
    living: Callable[[], Awaitable[Living]]
    drains: Drains
    tell_nodes: Callable[[], Awaitable[None]]
    fronts: Callable[[], Awaitable[Living]]
    holders: Callable[[], Awaitable[Mapping[int, str]]]
    waiting: Callable[[Collection[int]], Awaitable[tuple[int, int]]]
    at_work: Callable[[], Awaitable[int]]
    spent: Callable[[Sequence[SessionRecord], Sequence[str]], Awaitable[Sequence[Mapping[str, float]]]]
    platforms: Callable[[Collection[str]], Awaitable[Sequence[Mapping[str, Any]]]]
    delete: Callable[[SessionId], Awaitable[bool]]
    forget: Callable[[str], Awaitable[Erased]]
    export: Callable[[SessionId], AsyncIterator[str]]
    journals: Journals
    tasks: TaskRegister
    inbox: Inbox
    tell_approved: Callable[[AccessRequest], Awaitable[None]]
    clock: Clock

    async def processes(self) -> frozenset[str]:
        """The nodes and fronts that live. Raises StorageError."""
        living, fronts = await self.living(), await self.fronts()
        return frozenset((*living.nodes, *fronts.nodes))

    def reader(self, request: HTTPConnection) -> Client:
        """The client that asks. Raises HTTPException for one that may not see the gateway."""
        client = self.admission.client(request)
        if not client.scopes.gateway_read:
            raise HTTPException(403, f"{client.name} has no scope gateway:read.")
        return client

    def writer(self, request: HTTPConnection) -> Client:
        """The client that asks. Raises HTTPException for one that may not run the gateway."""
        client = self.admission.client(request)
        if not client.scopes.gateway_write:
            own = f"{client.name} has no scope gateway:write."
            raise HTTPException(403, _READ_ONLY if client.name.startswith(CONSOLE) else own)
        return client
