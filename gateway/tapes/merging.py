"""`POST /tape/v1/tapes/{tape}/merge`: what a fork has gained comes into the notebook, as entries or as one result."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.requests import answer, body_of
from gateway.tapes.reading import journal_of, tape_name
from gateway.tapes.writing import Body, Writers
from runtime.core.errors import HeadMoved
from runtime.stores.notebooks import MAX_ENTRIES_AT_ONCE, Draft, Entry, Merging, Notebook, common, cut, entry_line


class MergeRoute:
    """The request to merge. Entries that were merged are not merged again."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers

    async def merge(self, request: Request) -> Response:
        client = self._writers.admission.client(request)
        name = tape_name(client, "write", request)
        if journal_of(name) is not None:
            raise HTTPException(409, "What comes of a fork of a session comes back by /merge in its conversation.")
        body = Body(await body_of(request), "from", "as", "moved", "key")
        other = body.text("from")
        if other is None or journal_of(other) is not None:
            raise HTTPException(422, "from is the name of a notebook.")
        form, moved = body.one_of("as", "result", "entries"), body.one_of("moved", "append", "fail", "rebase")
        key = body.text("key")
        here = await self._writers.notebook(client, name)
        there = await self._writers.notebook(client, other, action="read")
        first, expected = _unmerged(here, there)
        if first > there.head:
            if moved == "rebase":
                await self._rebase(name, there)
            return answer({"merged": 0, "head": here.head})
        if moved == "fail" and here.head != expected:
            raise HeadMoved(f"{name} has moved on since {other} left it, or was merged last.", head=here.head)
        merging = Merging(other, there.branch, there.head, here.merged.get(other))
        done = await self._writers.notebooks.append(
            name,
            await self._drafts(there, first, form),
            expect=expected if moved == "fail" else None,
            key=key,
            merging=merging,
        )
        if moved == "rebase":
            await self._rebase(name, there)
        merged = {"merged": there.head - first + 1, "first": done.first, "last": done.last, "head": done.last}
        return answer(merged, 200 if done.known else 201)

    async def _rebase(self, name: str, there: Notebook) -> None:
        """Have the fork go on from what it was merged into, unless it does."""
        here = await self._writers.notebooks.find(name)
        if here is not None and common(here.view(), there.view()) < max(here.head, there.head):
            await self._writers.notebooks.rebase(there.name, here, expect=there.head)

    async def _drafts(self, there: Notebook, first: int, form: str) -> list[Draft]:
        store, view = self._writers.notebooks, there.view()
        if form == "result":
            last = [entry async for entry in store.read(cut(view, there.head, after=there.head - 1))]
            return [_from(last[0], there.name, {"from_ids": [first, there.head]})]
        if there.head - first >= MAX_ENTRIES_AT_ONCE:
            text = f'{there.name} has more than {MAX_ENTRIES_AT_ONCE:,} entries to merge; merge them as "result".'
            raise HTTPException(422, text)
        entries = [entry async for entry in store.read(cut(view, there.head, after=first - 1))]
        return [_from(entry, there.name, {"from_id": entry.id}) for entry in entries]


def _unmerged(here: Notebook, there: Notebook) -> tuple[int, int]:
    """The first entry that was not merged, and the head that `here` has if nothing came in between.

    Raises HTTPException where merged entries were rolled back there.
    """
    merged, shared = here.merged.get(there.name), common(here.view(), there.view())
    if merged is None or shared >= merged.head:  # or it goes on from what it was merged into
        begun = there.at if there.parent == here.name else shared
        return begun + 1, begun
    if common(there.view(), there.view(merged.branch)) < merged.last:
        raise HTTPException(409, f"{there.name} was rolled back behind what was merged; merge another fork.")
    return merged.last + 1, merged.head


def _from(entry: Entry, name: str, where: dict[str, Any]) -> Draft:
    data = entry.data()
    meta = data["meta"] if isinstance(data["meta"], dict) else {}
    return Draft(
        entry.kind, entry_line(entry.kind, data["payload"], {**meta, "from_tape": name, **where}, data["date"])
    )
