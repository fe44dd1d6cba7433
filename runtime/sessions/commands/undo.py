"""`/undo`: another session continues in the same place, from before the last exchanges."""

from __future__ import annotations

import uuid
from dataclasses import replace

from msgspec import Struct

from runtime.agents.loops import AgentLoops
from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.sessions.features import SessionParts
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.meetings.places import MeetingPlaces
from runtime.sessions.succession import SessionSuccession, words_within
from runtime.stores.inbox import InboxEvent
from runtime.tape.facts.session import ResultReturned
from runtime.tape.state.people import MAX_EXCHANGES, ExchangeState


class UndoneExchanges(Struct, frozen=True):
    """The exchanges to undo, the earliest first, and the notice for people."""

    exchanges: tuple[ExchangeState, ...]
    notice: str

    @property
    def seq(self) -> int:
        """The fact after which the session continues; 0 for its beginning."""
        return self.exchanges[0].seq


class SessionUndo(Struct, eq=False):
    """For one session in memory. An exchange is what somebody said while nothing went on, and all that came of it."""

    _parts: SessionParts
    _loops: AgentLoops
    _event_handler: EventHandler
    _places: MeetingPlaces

    def undoing(self, event: InboxEvent) -> UndoneExchanges | str:
        """The exchanges that `/undo` undoes, or the sentence why it does nothing."""
        wanted = event.text.strip() or "1"
        if not wanted.isdecimal() or not 1 <= len(wanted) <= len(str(MAX_EXCHANGES)) or int(wanted) == 0:
            return self._say("undo_usage", limit=MAX_EXCHANGES)
        exchanges = tuple(self._parts.journal.state.exchanges[-int(wanted) :])
        if not exchanges:
            return self._say("nothing_to_undo")
        others = [one.name for one in exchanges if one.person != event.person_id]
        if others and not event.private and not event.by_owner:
            return self._say("undo_not_yours", name=others[-1])
        first = exchanges[0]
        key = "undone_all" if first.seq == 0 else "undone" if len(exchanges) == 1 else "undone_several"
        said = {"name": first.name, "text": words_within(first.text)}
        return UndoneExchanges(exchanges, self._say(key, count=len(exchanges), **said))

    async def withdraw(self, undoing: UndoneExchanges) -> None:
        """Stop the work in progress, show nothing more of undone work, and mark messages that will not be answered."""
        with self._parts.pages.quiet():  # what ends by it has not ended in what goes on from before
            _, unread = await self._loops.stop()
        self._event_handler.stopped(unread, ())
        self._parts.pages.withdraw()
        for exchange in undoing.exchanges:
            for message in (exchange.message, *exchange.also):
                if message is not None:
                    self._parts.pages.signs.mark(message, "stopped")

    def succession(self, undoing: UndoneExchanges) -> SessionSuccession:
        """The session that continues from before the undone exchanges, in the same place."""
        parent = self._parts.record.at(undoing.seq)
        now = self._parts.around.clock.now()
        record = replace(
            self._parts.record,
            id=SessionId(uuid.uuid4().hex),
            started_at=now,
            seq=parent.seq,
            ended=False,
            parent=parent,
            replaced_by=None,
            taken_in="",
        )
        home = self._parts.journal.state.home
        if home is None or home.first <= undoing.seq:  # what stays says where the result goes
            place = None
        else:
            place = Address(home.platform, home.conversation, home.thread)
        places = tuple(self._places.all)
        return SessionSuccession(
            record, undoing.notice, self._parts.record.id, place, places, self._parts.record.taken_in
        )

    async def end(self, undoing: UndoneExchanges) -> None:
        """Tell people that all was undone, here and where meetings were held."""
        if self._places.all:
            await self._places.find_way_home()
        self._parts.pages.tell(undoing.notice)
        self._places.undone(self._places.all)
        if self._parts.journal.state.home is not None:
            self._parts.journal.note(ResultReturned())  # nothing came of a fork that was undone as a whole

    def begin(self, succession: SessionSuccession) -> None:
        """Tell people what was undone, here and where meetings were held that are no more."""
        self._parts.pages.tell(succession.notice)
        self._places.undone([place for place in succession.places if place not in self._places.all])

    def _say(self, key: str, **values: object) -> str:
        return self._parts.around.texts(f"session.{key}", **values)
