"""The command /memory: people see what is remembered of them, delete it, and turn it off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from adapters.adapter import Inbound
from adapters.records import Records
from gateway.features.memories.books import Memories, current_of
from gateway.features.memories.session_memory import OTHERS
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from runtime.core.errors import ConfigError
from runtime.core.plain_text import whole_number
from runtime.core.texts import Texts
from runtime.language.program import Program
from runtime.sessions.succession import name_within
from runtime.stores.memories import NOBODY, Memory, Scope

OFF_TABLE = "memory:off"
"""Who turned memory off: `<person> <program>`."""

_SHOWN = 100
"""The memories that a list shows, the newest."""


class RecordedSilence:
    """Implements `Silence` on a table."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def holds(self, program: str, person: str, /) -> bool:
        return await self._records.get(f"{person} {program}") is not None

    async def begin(self, program: str, person: str, /) -> None:
        await self._records.put(f"{person} {program}", "off")

    async def end(self, program: str, person: str, /) -> None:
        await self._records.remove(f"{person} {program}")


class MemoryCommand:
    """Answers /memory for all platforms."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._silence = memories.silence

    async def answer(self, given: GivenCommand) -> CommandAnswer:
        """Carry out the command and answer it: to who gave it alone, and to nobody where others would read it."""
        asked, texts = given.event, given.texts
        answer = (
            texts("programs.no_route") if given.program is None else await self._answer(asked, given.program, texts)
        )
        return CommandAnswer(answer, alone=True, otherwise=texts("memory.alone_only"))

    async def _answer(self, asked: Inbound, program: str, texts: Texts) -> str:
        if not self._memories.on(program):
            return texts("memory.not_here")
        person = asked.person_id
        place = Scope("place", program, asked.address.key)
        scope = Scope("person", program, person) if asked.private else place
        word, _, rest = asked.text.strip().partition(" ")
        if word.lower() == "forget":
            return await self._forget(rest.strip().removeprefix("#"), scope, person, texts)
        if word.lower() == "off" and not rest.strip():
            await self._silence.begin(scope.program, person)
            return texts("memory.turned_off")
        if word.lower() == "on" and not rest.strip():
            await self._silence.end(scope.program, person)
            return texts("memory.turned_on")
        return texts("memory.usage") if word else await self._list(scope, person, texts)

    async def _list(self, scope: Scope, person: str, texts: Texts) -> str:
        off = await self._silence.holds(scope.program, person)
        found = await self._theirs(scope, person)
        shown = [memory for memory in current_of(found) if memory in found][-_SHOWN:]
        if not shown:
            return texts("memory.off_and_none" if off else f"memory.none_{scope.kind}")
        bound = self._memories.limits.bound(scope)
        lines = [texts("memory.off")] if off else []
        lines += [texts(f"memory.begins_{scope.kind}", count=len(current_of(found)), limit=bound)]
        lines += [_line(memory, texts) for memory in shown]
        return "\n".join([*lines, "", texts("memory.ends")])

    async def _forget(self, which: str, scope: Scope, person: str, texts: Texts) -> str:
        found = await self._theirs(scope, person)
        if which.lower() in ("all", "everything"):
            count = await self._memories.store.forget(scope, [one.id for one in found if one.owner == person])
            return texts("memory.forgot_all", count=count)
        number = whole_number(which)
        if number is None:
            return texts("memory.which")
        memory = next((one for one in found if one.number == number), None)
        if memory is None:
            return texts("memory.unknown", number=number)
        await self._memories.store.forget(scope, _with_replaced(memory, found))
        return texts("memory.forgot", number=memory.number)

    async def _theirs(self, scope: Scope, person: str) -> Sequence[Memory]:
        """What a person may see and delete there: what is remembered of them, and of the place."""
        book = await self._memories.book(scope)
        return [memory for memory in book.memories if memory.owner in (person, NOBODY)]


def _with_replaced(memory: Memory, known: Sequence[Memory]) -> list[str]:
    """The ids of a memory and of those that it replaced, one after the other: none of them comes back."""
    by_id = {one.id: one for one in known}
    ids = [memory.id]
    for id_ in ids:
        ids += [older for older in (by_id[id_].replaces if id_ in by_id else ()) if older not in ids]
    return ids


def _line(memory: Memory, texts: Texts) -> str:
    said = datetime.fromtimestamp(memory.made_s, UTC)
    about = memory.about or (texts("memory.this_place") if memory.owner == NOBODY else "")
    key = "memory.line_about" if about else "memory.line"
    text, about = name_within(memory.text), name_within(about)
    return texts(key, number=memory.number, text=text, about=about, date=f"{said:%Y-%m-%d}")


def remembers(programs: Mapping[str, Program], routes: Mapping[str, bool], *, otherwise: bool) -> dict[str, bool]:
    """Whether each program remembers people: as its route says, else as it says itself, else `otherwise`.

    Raises ConfigError for a word that says neither.
    """
    return {name: _says(program, otherwise=otherwise) for name, program in programs.items()} | dict(routes)


def _says(program: Program, *, otherwise: bool) -> bool:
    said = program.metadata.get("memory")
    word = str(said).lower()
    if said is None:
        return otherwise
    if word not in ("true", "on", "yes", "false", "off", "no", OTHERS):
        raise ConfigError(f"{program.name}: memory is {said!r}; write true, false or {OTHERS}.")
    return word not in ("false", "off", "no")
