"""The current view of every room: stored messages, and growing texts over them, sent to every page that looks at it.

Only a message's first text and its final one are kept; what is between lives in memory. Changes to a room's kept
messages and the cuts through it exclude each other, so every page sees one room in one order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

import anyio.lowlevel
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from adapters.web import codec
from adapters.web.charters import RoomCharter, RoomCharters, RoomHues, charter_of
from adapters.web.codec import Presence, RoomCut, RoomHead, ShownMessage, WebVisitor
from adapters.web.echo import MAX_TOLD, Echo, Elsewhere
from adapters.web.hub import ConnectedPage, Hub
from adapters.web.rooms import RoomStore
from adapters.web.searching import WordSearch
from runtime.core.errors import MessageGone
from runtime.core.room import RoomChange, RoomMessage, RoomPost

FIRST_ROOM = "lobby"
"""The room that always exists."""
PAGE_LENGTH = 60
"""The number of messages that a page gets at once."""
MAX_CHANGES = 300
"""The number of missed changes from which a page starts again from the newest messages."""
MAX_FOUND = 50
MAX_SEARCHED = 10_000
_SEARCHED_AT_ONCE = _SHOWN_AT_ONCE = 200
MAX_GROWING = 4_096
"""The number of growing messages. Beyond it, the one that has not grown for the longest is shown as stored."""


class _Growing(Struct):
    room: str
    message: RoomMessage


class RoomBoard:
    """Rooms as people see them. Raises StorageUnavailable from every async method."""

    def __init__(self, store: RoomStore, hub: Hub, echo: Echo, charters: RoomCharters, hues: RoomHues) -> None:
        self.charters = charters
        self._hues = hues
        self._store = store
        self._hub = hub
        self._echo = echo
        self._elsewhere = Elsewhere(self._echo.clock)
        hub.with_others = self._elsewhere.with_these
        hub.elsewhere = self._elsewhere.everybody
        hub.bulletin.partners = charters.partners
        self.on_said: Callable[[str, RoomMessage], None] = lambda _room, _message: None
        """Called with each message once, when it is finished, by the node that shows it first."""
        self._seen: dict[str, int] = {}
        hub.on_empty = self._left
        hub.bulletin.on_turn = self._echo.active
        hub.bulletin.on_people = self._echo.people_changed
        hub.bulletin.hears_of = charters.tells_of
        self._locks: dict[str, anyio.Lock] = {}
        self._heads: dict[str, int] = {}
        self._growing: OrderedDict[str, _Growing] = OrderedDict()
        self._search_turn = anyio.Lock()

    async def rooms(self, person_id: str) -> Sequence[RoomHead]:
        """The rooms on a person's list: the first room, then the others, the most recently active first."""
        known, charters = [info.id for info in await self._store.rooms()], await self.charters.all()
        ordered = [FIRST_ROOM, *(room for room in known if room != FIRST_ROOM)]
        found = [(room, charters.get(room) or charter_of(room, None)) for room in ordered]
        return [RoomHead(room, await self._head(room), charter) for room, charter in found if charter.lists(person_id)]

    async def open_rooms(self, person_id: str) -> tuple[int, int]:
        """The number of rooms that everybody sees and nobody has archived, and how many of them a person made."""
        known, charters = [info.id for info in await self._store.rooms()], await self.charters.all()
        rooms = (charters.get(room) or charter_of(room, None) for room in known)
        seen = [charter for charter in rooms if charter.kind == "open" and not charter.archived]
        return len(seen), sum(charter.made_by == person_id for charter in seen)

    async def alter(self, room: str, edit: Callable[[RoomCharter], RoomCharter]) -> RoomCharter:
        before = await self.charters.know(room)
        charter = await self.charters.change(room, edit)
        self._echo.chartered(room)
        await self._show_charter(room, before, charter)
        return charter

    async def chartered(self, room: str, /) -> None:
        before = self.charters.known.get(room)
        await self._show_charter(room, before, await self.charters.get(room))

    async def _show_charter(self, room: str, before: RoomCharter | None, charter: RoomCharter) -> None:
        """Show a room to who sees it, and take it from who does not any more. Nobody else hears of it.

        What was there before may have been forgotten, or be the same: others ask for a charter between its change and
        the news of it. So whoever looks at the room is always asked for.
        """
        head = RoomHead(room, await self._head(room), charter)
        frames: dict[str, str] = {}
        for number, browser in enumerate(self._hub.everybody()):
            person = browser.person.id
            if charter.lists(person):
                title = charter.title_for(person)
                if title not in frames:
                    frames[title] = codec.room(head, person)
                browser.push(frames[title])
            elif browser.room == room or (before is not None and before.lists(person)):
                if browser.room == room:
                    self._hub.leave_room(browser)
                browser.push(codec.frame("gone", room=room))
            if number % _SHOWN_AT_ONCE == _SHOWN_AT_ONCE - 1:
                await anyio.lowlevel.checkpoint()

    def _is_out(self, browser: ConnectedPage, room: str) -> bool:
        """Whether the person of a page is known not to see a room any more."""
        charter = self.charters.known.get(room)
        return charter is not None and not charter.admits(browser.person.id)

    async def post(self, room: str, post: RoomPost, /) -> RoomMessage:
        """Store a message and show it; one that the room has is only shown again. Returns it as stored."""
        async with self._lock(room):
            await self.charters.know(room)
            head = await self._head(room)
            if post.author_kind != "notice":
                person = post.author_kind == "person"
                await self._give_hue(room, post.author_id if person else f"agent {post.author_name}")
            kept = await self._store.put(room, post)
            self._heads[room] = max(head, kept.seq)
            self._note_kept(room, kept)
            if not kept.final:
                self._remember(room, kept)
            self._hub.to_room(room, codec.message(room, self._now(kept)))
            if kept.seq > head:
                if kept.final:
                    self.on_said(room, kept)
                self._hub.bulletin.active(room, kept.seq, here=True)
        return kept

    async def _give_hue(self, room: str, key: str) -> None:
        if hues := await self._hues.give(room, key):
            frame = codec.hues(room, hues)
            self._hub.to_room(room, frame)
            self._echo.frame(room, frame)

    async def change(self, room: str, message_id: str, text: str, /, *, final: bool) -> None:
        """Give a message its whole new text. Raises MessageGone when the room does not have it."""
        growing = self._growing.get(message_id)
        if growing is not None and not final:
            before = growing.message.text
            self._show(growing, text)
            self._echo.grew(room, message_id, before, text)
            return
        if final:
            self._echo.ended(message_id)
        async with self._lock(room):
            kept = await self._store.update(room, message_id, text=text, final=final)
            if kept is None:
                self._growing.pop(message_id, None)
                raise MessageGone(f"web: message {message_id} is no longer in room {room!r}")
            self._note_kept(room, kept)
            if not final:
                self._remember(room, kept)
                self._echo.grew(room, message_id, "", text)
            elif growing is not None and self._growing.pop(message_id, None) is growing:
                self.on_said(room, kept)
                before = growing.message.text
                self._hub.to_room(room, codec.grow(room, message_id, before, text, done_version=kept.version))
                return
            self._hub.to_room(room, codec.message(room, self._now(kept)))

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage:
        """Change more than a message's text. Raises MessageGone when the room does not have it, or it was deleted."""
        async with self._lock(room):
            known = await self._store.get(room, message_id)
            is_gone = known is None or (known.deleted and not change.deleted)
            kept = None if is_gone else await self._store.amend(room, message_id, change)
            if known is None or kept is None:
                raise MessageGone(f"web: message {message_id} is no longer in room {room!r}")
            self._note_kept(room, kept)
            if change.text is not None:
                self._echo.ended(message_id)
                self._growing.pop(message_id, None)
            if kept.version != known.version or change.text is not None:
                self._hub.to_room(room, codec.message(room, self._now(kept)))
        return kept

    async def message(self, room: str, message_id: str, /) -> RoomMessage | None:
        kept = await self._store.get(room, message_id)
        return None if kept is None or kept.deleted else kept

    async def join(self, browser: ConnectedPage, room: str, version: int | None) -> None:
        """Send the page a cut through the room, and from then on its events."""
        async with self._lock(room):
            await self._echo.follow(room)
            if not self._is_out(browser, room):
                await self._give_hue(room, browser.person.id)
            hues = await self._hues.of(room)
            cut = await self._changed(room, version) if version else None
            if cut is None:
                cut = await self._page(room, before_seq=None, reset=True)
            if self._is_out(browser, room):  # and has been told so, since the request was admitted
                return
            self._seen.setdefault(room, max((shown.message.version for shown in cut.messages), default=version or 0))
            self._hub.show(browser, room)  # nothing was awaited since the cut: what grows meanwhile would be lost
            browser.push(codec.joined(room, cut, self._hub.presence(room), hues))
        if await self._echo.follow(room):  # the last page before this one had left meanwhile
            await self.catch_up(room)

    async def older(self, browser: ConnectedPage, room: str, before_seq: int) -> None:
        async with self._lock(room):
            page = await self._page(room, before_seq=before_seq, reset=False)
            if not self._is_out(browser, room):
                browser.push(codec.older(room, page))

    async def newest(self, room: str, count: int) -> Sequence[RoomMessage]:
        """The newest messages as stored, oldest first."""
        return await self._store.history(room, limit=count)

    async def search(self, browser: ConnectedPage, room: str, words: str) -> None:
        """Send the page the newest messages with all these words, or where none has them with words like them, from
        the newest of a room, or of all that the person sees ("").

        `MAX_SEARCHED` messages are read, of all rooms together and the newest of each first. Searches come one after
        the other, in a thread: they would slow down everything else.
        """
        looked_for = WordSearch(words)
        async with self._search_turn:
            rooms = [room] if room else [head.id for head in await self.rooms(browser.person.id)]
            unread: deque[tuple[str, int | None]] = deque((one, None) for one in rooms)
            pages = MAX_SEARCHED // _SEARCHED_AT_ONCE
            while unread and pages and (room == "" or len(looked_for.exact) <= MAX_FOUND):
                one, before = unread.popleft()
                page, pages = await self._store.history(one, before_seq=before, limit=_SEARCHED_AT_ONCE), pages - 1
                await to_thread.run_sync(looked_for.look, one, [*map(self._now, page)])
                if len(page) == _SEARCHED_AT_ONCE:
                    unread.append((one, page[0].seq))
            found, meant = looked_for.found(lambda one: not self._is_out(browser, one))
        found.sort(key=lambda one: (one[1].message.sent_at, one[1].message.seq), reverse=True)
        more = len(found) > MAX_FOUND
        browser.push(codec.found(room, words, found[:MAX_FOUND], meant, more=more, whole=more or not unread))

    def people(self, room: str) -> Sequence[WebVisitor]:
        return self._hub.everybody_in(room).people

    def people_here(self, room: str, /) -> Presence:
        here = self._hub.here(room)
        return Presence(tuple(here.values())[:MAX_TOLD], len(here))

    def people_elsewhere(self, node: str, room: str, presence: Presence, /) -> None:
        self._elsewhere.told(node, room, presence)
        self._show_people(room)

    def forget_ended(self) -> None:
        for room in self._elsewhere.forget_ended():
            self._show_people(room)

    def _show_people(self, room: str) -> None:
        if self._hub.here(room):
            self._hub.bulletin.people_changed(room, here=False)
        else:
            self._hub.bulletin.somebody_moved()

    async def has(self, room: str) -> bool:
        return room == FIRST_ROOM or await self._head(room) > 0

    # What other nodes tell; see `Audience`.

    async def catch_up(self, room: str, /) -> None:
        async with self._lock(room):
            if room not in self._seen:
                return
            found = await self._store.changes(room, after_version=self._seen[room], limit=MAX_CHANGES + 1)
            self._seen[room] = max((kept.version for kept in found), default=self._seen[room])
            if len(found) > MAX_CHANGES:
                hues = await self._hues.of(room)
                cut = await self._page(room, before_seq=None, reset=True)
                self._hub.to_room(room, codec.joined(room, cut, self._hub.presence(room), hues))
                return
            for kept in found:
                if kept.final:
                    self._growing.pop(kept.id, None)
                else:
                    self._remember(room, kept)
                self._hub.to_room(room, codec.message(room, self._now(kept)))

    async def catch_up_all(self) -> None:
        before, now = dict(self.charters.known), await self.charters.all()
        for room, charter in now.items():
            if before.get(room) != charter:
                await self._show_charter(room, before.get(room), charter)
        for room in list(self._seen):
            await self.catch_up(room)

    async def grown(self, room: str, message_id: str, keep: int, add: str, /) -> bool:
        async with self._lock(room):
            growing = self._growing.get(message_id)
            if room not in self._seen:
                return True
            if growing is None:
                kept = await self._store.get(room, message_id)
                if kept is None or kept.final:
                    return True
                self._remember(room, kept)
                growing = self._growing[message_id]
            if len(growing.message.text) < keep:
                return False
            self._show(growing, growing.message.text[:keep] + add)
            return True

    def growing(self, message_id: str, /) -> str | None:
        growing = self._growing.get(message_id)
        return None if growing is None else growing.message.text

    async def active(self, room: str, seq: int, /) -> None:
        await self.charters.know(room)
        self._heads[room] = max(seq, self._heads.get(room, 0))
        self._hub.bulletin.active(room, seq, here=False)

    def show(self, room: str, frame: str, /) -> None:
        self._hub.to_room(room, frame)

    def tell_alone(self, room: str, person_id: str, frame: str) -> None:
        """Show a frame on the pages on which one person looks at a room, on all nodes. Nobody keeps it."""
        self.show_alone(room, person_id, frame)
        self._echo.alone(room, person_id, frame)

    def show_alone(self, room: str, person_id: str, frame: str, /) -> None:
        self._hub.to_person(room, person_id, frame)

    def _left(self, room: str) -> None:
        self._seen.pop(room, None)
        self._echo.unfollow(room)

    def _note_kept(self, room: str, kept: RoomMessage) -> None:
        self._echo.changed(room)
        if self._seen.get(room) == kept.version - 1:
            self._seen[room] = kept.version

    async def _page(self, room: str, *, before_seq: int | None, reset: bool) -> RoomCut:
        found = await self._store.history(room, before_seq=before_seq, limit=PAGE_LENGTH + 1)
        return RoomCut(tuple(map(self._now, found[-PAGE_LENGTH:])), reset=reset, more=len(found) > PAGE_LENGTH)

    async def _changed(self, room: str, version: int) -> RoomCut | None:
        """The changes, or None when there are too many, or the page has seen more than this store has."""
        found = await self._store.changes(room, after_version=version - 1, limit=MAX_CHANGES + 1)
        if not found or len(found) > MAX_CHANGES:
            return None
        changed = {message.id: message for message in found if message.version > version}
        grown = (
            each.message for each in self._growing.values() if each.room == room and each.message.id not in changed
        )
        return RoomCut(tuple(map(self._now, [*changed.values(), *grown])), reset=False, more=False)

    def _now(self, kept: RoomMessage) -> ShownMessage:
        growing = self._growing.get(kept.id)
        if growing is None or kept.final:
            return ShownMessage(kept, live=False)
        return ShownMessage(replace(kept, text=growing.message.text), live=True)

    def _remember(self, room: str, kept: RoomMessage) -> None:
        known = self._growing.get(kept.id)
        if known is None or not known.message.text.startswith(kept.text):
            self._growing[kept.id] = _Growing(room, kept)
        self._growing.move_to_end(kept.id)
        if len(self._growing) > MAX_GROWING:
            self._growing.popitem(last=False)

    def _show(self, growing: _Growing, text: str) -> None:
        before = growing.message
        if text == before.text:
            return
        growing.message = replace(before, text=text)
        self._growing.move_to_end(before.id)
        self._hub.to_room(growing.room, codec.grow(growing.room, before.id, before.text, text))

    def _lock(self, room: str) -> anyio.Lock:
        return self._locks.setdefault(room, anyio.Lock())

    async def _head(self, room: str) -> int:
        """The `seq` of the newest message; 0 for a room that does not exist, which is looked up again each time."""
        if room in self._heads:
            return self._heads[room]
        newest = await self._store.history(room, limit=1)
        return self._heads.setdefault(room, newest[-1].seq) if newest else 0
