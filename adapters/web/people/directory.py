"""The people who have been here, so that others can write to them."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.records import Records
from adapters.web.codec import Person

DIRECTORY_TABLE = "web:directory"
MAX_LISTED = 2_000
"""The people that are listed; further ones are not."""


class Directory:
    """Names by id. Raises StorageUnavailable. Without `records` nobody is listed."""

    def __init__(self, records: Records | None) -> None:
        self._records = records
        self._names: dict[str, str] = {}

    async def calls_otherwise(self, person: Person) -> bool:
        """Whether somebody is known, by another name."""
        if self._records is None or self._names.get(person.id) == person.name:
            return False
        return await self._records.get(person.id) not in (None, person.name)

    async def met(self, person: Person) -> None:
        """Somebody is here, under this name."""
        if self._records is None or self._names.get(person.id) == person.name:
            return
        known = await self._records.get(person.id)
        if known is None and len(await self._records.all()) >= MAX_LISTED:
            return
        if known != person.name:
            await self._records.put(person.id, person.name)
        self._names[person.id] = person.name

    async def name_of(self, person_id: str) -> str | None:
        """The name of somebody who has been here."""
        return None if self._records is None else await self._records.get(person_id)

    async def all(self) -> Sequence[Person]:
        """Everybody, by name."""
        listed = {} if self._records is None else await self._records.all()
        return sorted(
            (Person(id_, name) for id_, name in listed.items()), key=lambda one: (one.name.casefold(), one.id)
        )
