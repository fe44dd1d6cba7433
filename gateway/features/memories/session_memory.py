"""The memory of one session: what it remembers and recalls, and what of it a model is told."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from gateway.features.memories.books import Book, Meanings, Memories, replaced_by
from gateway.features.memories.facts import MadeMemories, MadeMemory, MemoryMade
from gateway.features.memories.index import runs
from gateway.models.answers import BilledPerson
from runtime.execution import standing
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import call
from runtime.sessions.features import SessionParts
from runtime.stores.memories import NOBODY, MemoryScope, StoredMemory, scope_kind
from runtime.tape.state.frames import FrameState

MAX_CHARS = 500

MAX_ABOUT_CHARS = 80

_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pin(?:[ -]?code)?|api[ -]?key|secret[ -]?key|private[ -]?key|access[ -]?token|cvv"
    r"|cvc|one[- ]time[- ](?:code|password)|recovery[ -]?code|seed phrase)\b\W{0,3}(?:is|are|was|=|:|to)\W"
    r"|\b(?:sk|pk|rk|ghp|gho|xox[abprs]|AKIA|AIza|glpat|eyJ)[-_]?[A-Za-z0-9_\-]{16,}"
    r"|-----BEGIN |\b\d{6,12}:[A-Za-z0-9_-]{30,}|密码(?:是|为|:|\uff1a)",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)")

_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|rule|prompt|previous|above|polic|guardrail"
    r"|step)"
    r"|\b(?:always|never|must|shall|henceforth|from now on)\b.{0,30}\b(?:obey|comply|execute|approve|reveal|trust"
    r"|transfer|grant)|^\s*(?:always|never)\s+(?!\w*s\b)\w+"
    r"|\b(?:obey|comply with|follow)\b.{0,30}\b(?:instruction|order|command|everything|every request|any request|all)"
    r"|\byou (?:are now|must|should always|will always|have to|are allowed|may now)\b"
    r"|\b(?:system|developer|assistant) ?(?:prompt|message|role|instruction)\b|^\s*(?:system|assistant|developer)\s*:"
    r"|<\|?/?(?:system|im_start|im_end|assistant)|\bact as\b|\bpretend (?:to be|you)\b"
    r"|(?:忽略|无视).{0,8}(?:指令|规则|提示)|(?:总是|永远|必须)(?:服从|听从|执行)",
    re.IGNORECASE | re.DOTALL,
)

_PERSONAL = re.compile(
    r"\b(?:the user|this user|user['\u2019]s|i|i['\u2019]m|me|my|mine|myself|he|she|his|hers?)\b", re.I
)

_LEAST_NAME_CHARS = 2

REMEMBERED = "remembered"
OTHERS = "others"
"""The value of a program's `memory:` by which it may remember what somebody says about other people."""

_USER = frozenset({"", "user", "human", "person", "speaker", "me", "i", "the user", "this user"})
_PLACE = frozenset({"place", "group", "room", "here", "everybody", "everyone", "team", "us", "conversation", "thread"})
_PROGRAM = "program"
_ID_CHARS = 32

_SMOOTHING = 60
"""How little the first places of a list count before the later ones (reciprocal rank fusion)."""


def is_secret(text: str) -> bool:
    """Whether a text looks like a password, a key or the number of a card."""
    return _SECRET.search(text) is not None or any(_is_card(found) for found in _CARD.findall(text))


def is_instruction(text: str) -> bool:
    """Whether a text tells a model what to do, and nothing of a person."""
    return _INSTRUCTION.search(text) is not None


def is_personal(text: str) -> bool:
    """Whether a text speaks of one person, without a name."""
    return _PERSONAL.search(text) is not None


def names_one(text: str, names: Iterable[str]) -> str | None:
    """The first of these names that a text names; None for none."""
    said = f" {' '.join(runs(text))} "
    for name in names:
        words = " ".join(runs(name))
        if len(words) >= _LEAST_NAME_CHARS and (f" {words} " in said or (not words.isascii() and words in said)):
            return name
    return None


def _is_card(digits: str) -> bool:
    """Whether the check digit of a number is that of a card (Luhn)."""
    numbers = [int(digit) for digit in digits if digit.isdecimal()][::-1]
    return sum(n if at % 2 == 0 else (2 * n - 9 if n > 4 else 2 * n) for at, n in enumerate(numbers)) % 10 == 0


class _Meant(Struct, frozen=True):
    """A memory to be made: where it may be used, whose it is, and who else it is about."""

    scope: MemoryScope
    owner: str
    about: str = ""


class SessionMemory:
    """Remembers and recalls for one session. `memories` are those of the node."""

    def __init__(self, parts: SessionParts, memories: Memories, meanings: Meanings | None) -> None:
        """`meanings` is None where only words are compared."""
        self._journal = parts.journal
        self._conversation = parts.record.address
        self._others = str(parts.program.metadata.get("memory", "")).lower() == OTHERS
        self._program = parts.record.program
        self._memories = memories
        self._meanings = meanings

    @property
    def on(self) -> bool:
        return self._memories.on(self._program)

    @call("Remember", example='await Remember("is vegetarian", about="user")')
    async def remember(self, frame: Frame, text: str, about: str = "user") -> str:
        """Keeps one short fact about the person who speaks, or `about="place"` about this group or room, for later
        conversations.

        It returns "remembered", or says why not. The place where it was said decides where the fact may be used. A
        newer fact about the same thing replaces an older one.
        """
        if self._journal.state.order is not None:
            return "not remembered: a task only recalls; return it, and who has ordered the task can remember it"
        text, about = " ".join(text.split()), " ".join(about.split())
        meant = await self._meant(frame.state, about)
        if isinstance(meant, str):
            return meant
        if why := self._refused(text, meant):
            return f"not remembered: {why}"
        book = await self._memories.book(meant.scope)
        unkept = self._unkept(meant.scope)
        if any(
            (one.owner, one.about, one.text) == (meant.owner, meant.about, text) for one in (*book.current, *unkept)
        ):
            return REMEMBERED
        made = self._new(meant, text, book)
        others = [memory for memory in book.current if memory.id not in made.replaces]
        bound = self._memories.limits.bound(meant.scope)
        if len(others) + len(unkept) >= bound:
            return (
                f"not remembered: {bound} memories are kept here already, and that is the limit; some can be forgotten"
            )
        self._journal.note(made)
        return REMEMBERED

    async def _meant(self, frame: FrameState, about: str) -> _Meant | str:
        """Whom a memory is about and where it may be used; why there is none."""
        stands = await self._standing(frame)
        if isinstance(stands, str):
            return f"not remembered: {stands}"
        who, state = about.casefold(), self._journal.state
        if who == _PROGRAM:
            if not standing.hears_nobody(state):
                return "not remembered: what people say is remembered about them or their place, never for the program"
            return _Meant(MemoryScope("program", self._program), NOBODY)
        if who in _USER or who in map(str.casefold, standing.own_names(state, stands.owner)):
            if stands.owner == NOBODY:
                return "not remembered: it is not clear who has said it"
            return _Meant(stands.scope, stands.owner)
        if who in _PLACE:
            return _Meant(stands.scope, NOBODY if stands.scope.kind == "place" else stands.owner)
        if not self._others:
            return (
                f"not remembered: it is about {about}, and only what somebody says about themselves is remembered here"
            )
        return _Meant(stands.scope, stands.owner, about)

    def _refused(self, text: str, meant: _Meant) -> str:
        """Why a text is not remembered; "" where it is."""
        state = self._journal.state
        if not text:
            return "there is nothing to remember"
        if len(text) > MAX_CHARS:
            return f"it has {len(text)} characters, and a memory has at most {MAX_CHARS}"
        if len(meant.about) > MAX_ABOUT_CHARS:
            return f"a name has at most {MAX_ABOUT_CHARS} characters"
        if is_secret(text):
            return "it looks like a password, a key or the number of a card"
        if is_instruction(text) or is_instruction(meant.about):
            return "it is an instruction; memories are facts about people and places"
        if meant.owner == NOBODY and meant.scope.kind == "place":
            named = names_one(text, chain.from_iterable(standing.own_names(state, str(one)) for one in state.people))
            if named or is_personal(text):
                return 'it is about one person; say about="user"'
        elif not self._others and (other := names_one(text, standing.others_names(state, meant.owner))):
            return f"it is about {other}, and only what somebody says about themselves is remembered here"
        return ""

    def _new(self, meant: _Meant, text: str, book: Book) -> MemoryMade:
        state = self._journal.state
        id_ = hashlib.sha256(f"memory.{self._journal.session}.{state.seq + 1}".encode()).hexdigest()[:_ID_CHARS]
        made = MemoryMade(
            *(id_, meant.scope.kind, meant.scope.whose, meant.owner, meant.about, text),
            self._memories.clock.now().timestamp(),
            None if meant.owner == NOBODY else standing.last_message(state, meant.owner),
        )
        earlier = self._unkept(meant.scope)
        return replace(made, replaces=replaced_by(text, meant.owner, meant.about, [*book.current, *earlier]))

    def memory_of(self, made: MadeMemory) -> StoredMemory:
        """A memory of this session as it is kept."""
        return StoredMemory(
            made.id,
            MemoryScope(scope_kind(made.scope), self._program, made.whose),
            made.owner,
            made.about,
            made.text,
            made.made,
            self._conversation.key,
            self._journal.session,
            made.message,
            tuple(made.replaces),
        )

    def _made(self) -> Iterable[MadeMemory]:
        return self._journal.state.part(MadeMemories).memories.values()

    def _unkept(self, scope: MemoryScope) -> list[StoredMemory]:
        """What was remembered for a scope and is not in the store yet."""
        new = [self.memory_of(made) for made in self._made() if made.status == "new"]
        return [memory for memory in new if memory.scope == scope]

    @call("Recall", example='facts = await Recall("diet")', reads=True)
    async def recall(self, frame: Frame, question: str) -> list[str]:
        """Returns what is remembered about the person who speaks, and about this place, that fits a question.

        The best match comes first; the list is empty if nothing fits.
        """
        found = await self._found(frame.state, question, question, few=False)
        return [f"{memory.about}: {memory.text}" if memory.about else memory.text for memory in found]

    async def told(self, frame: FrameState, heard: str, asked: str) -> Sequence[StoredMemory]:
        """What a model is to be told that is `asked` something: all there is where that is little, else what fits best.

        For its meaning only what was `heard` is compared, which is the same for all questions of a turn.
        """
        return await self._found(frame, f"{heard} {asked}", heard.strip() or asked, few=True) if self.on else []

    async def _found(self, frame: FrameState, question: str, meant: str, *, few: bool) -> list[StoredMemory]:
        stands = await self._standing(frame)
        if isinstance(stands, str):
            return []
        limit, found = self._memories.limits.told, list[StoredMemory]()
        for scope, owner in self._readable(stands):
            book = await self._whole(scope)
            mine = book.of(owner)
            best, all_told = book.found(question, owner, limit), few and len(mine) <= limit
            if self._meanings is not None and not all_told:
                order = self._journal.state.order
                place = self._conversation if order is None else order.place
                payer = BilledPerson(self._journal.session, place, owner or None)
                best = _merged(best, await self._meanings.found(mine, meant, limit, payer))[:limit]
            rest = [memory for memory in reversed(mine) if memory not in best] if all_told else []
            found += [*best, *rest]
        return found[:limit]

    def _readable(self, stands: standing.MemoryStanding) -> list[tuple[MemoryScope, str]]:
        """The scopes whose memories may be used now, with the owners."""
        mine = [] if stands.owner == NOBODY else [(stands.scope, stands.owner)]
        ours = [(stands.scope, NOBODY)] if stands.scope.kind == "place" else []
        return [*mine, *ours, (MemoryScope("program", self._program), NOBODY)]

    async def _whole(self, scope: MemoryScope) -> Book:
        """The memories of a scope, with those of this session that are not in the store yet."""
        book = await self._memories.book(scope)
        kept = {memory.id for memory in book.memories}
        new = [memory for memory in self._unkept(scope) if memory.id not in kept]
        gone = {made.id for made in self._made() if made.status == "withdrawn"}
        if not new and not gone & kept:
            return book
        return Book.of_all([*(memory for memory in book.memories if memory.id not in gone), *new])

    async def _standing(self, frame: FrameState) -> standing.MemoryStanding | str:
        """Where a frame stands; why nothing is remembered or recalled there."""
        if not self.on:
            return "memory is off for this program"
        stands = standing.standing_of(self._journal.state, frame, self._conversation, self._program)
        if stands is None:
            return "meetings in a place of their own have no memory, nor have tasks that come of them"
        if stands.owner != NOBODY and await self._memories.silence.holds(self._program, stands.owner):
            return "this person has turned memory off"
        return stands


def _merged(words: Sequence[StoredMemory], meaning: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Two lists, the best first, as one: what is far in front in either, and first what is in both."""
    worth: dict[StoredMemory, float] = {}
    for found in (words, meaning):
        for place, memory in enumerate(found):
            worth[memory] = worth.get(memory, 0.0) + 1 / (_SMOOTHING + place)
    return sorted(worth, key=worth.__getitem__, reverse=True)
