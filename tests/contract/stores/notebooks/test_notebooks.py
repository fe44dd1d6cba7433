"""Every store of notebooks, in memory and on a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from gateway.features.notebooks.redis import RedisNotebooks
from gateway.features.notebooks.store import (
    Appended,
    Draft,
    Merged,
    Merging,
    Notebook,
    NotebookEntry,
    NotebookStore,
    common,
    cut,
    entry_line,
)
from runtime.core.errors import HeadMoved, NotebookExists, NotebookFull, NotebookGone
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.sessions.tapes import TapeNews
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.fakes.memory.notebooks import MemoryNotebooks

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *SETUPS, ENCRYPTED])
async def store(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[NotebookStore]:
    if request.param == "memory":
        yield MemoryNotebooks(notebooks=4, entries=8)
        return
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        yield RedisNotebooks(connection, TapeNews(connection), notebooks=4, entries=8)


def drafts(*texts: str, kind: str = "message") -> list[Draft]:
    return [Draft(kind, entry_line(kind, {"text": text}, {}, "2026-11-23T09:00:00+00:00")) for text in texts]


async def of(store: NotebookStore, name: str) -> Notebook:
    found = await store.find(name)
    assert found is not None
    return found


async def texts(store: NotebookStore, name: str, branch: int | None = None, *, back: bool = False) -> list[str]:
    """The entries of a notebook as "number text"."""
    view = (await of(store, name)).view(branch)
    return [said(entry) async for entry in store.read(view, back=back)]


def said(entry: NotebookEntry) -> str:
    return f"{entry.id} {json.loads(entry.line)['payload']['text']}"


async def test_entries_are_numbered_through_and_read_as_they_were_written(store: NotebookStore) -> None:
    assert await store.find("plan") is None
    assert await store.append("plan", drafts("a", "b")) == Appended(1, 2)
    assert await store.append("plan", drafts("ü")) == Appended(3, 3)
    assert await texts(store, "plan") == ["1 a", "2 b", "3 ü"]
    assert await texts(store, "plan", back=True) == ["3 ü", "2 b", "1 a"]
    some = cut((await of(store, "plan")).view(), 2, after=1)
    assert [said(entry) async for entry in store.read(some)] == ["2 b"]
    before = await store.names()
    assert list(before) == ["plan"]
    await store.append("plan", drafts("d"))
    assert (await store.names())["plan"] > before["plan"]


async def test_an_append_with_another_head_writes_nothing_and_says_where_the_head_is(store: NotebookStore) -> None:
    await store.append("plan", drafts("a"), expect=0)
    for expect in (0, 2):
        with pytest.raises(HeadMoved) as moved:
            await store.append("plan", drafts("b"), expect=expect)
        assert moved.value.head == 1
    assert await store.append("plan", drafts("b"), expect=1) == Appended(2, 2)
    assert await texts(store, "plan") == ["1 a", "2 b"]


async def test_of_many_who_expect_the_same_head_one_writes(store: NotebookStore) -> None:
    done: list[str] = []

    async def write(text: str) -> None:
        try:
            await store.append("plan", drafts(text), expect=0)
        except HeadMoved:
            return
        done.append(text)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(write, str(number))
    assert len(done) == 1
    assert await texts(store, "plan") == [f"1 {done[0]}"]


async def test_a_key_is_taken_once_for_each_notebook(store: NotebookStore) -> None:
    assert await store.append("plan", drafts("a", "b"), key="k") == Appended(1, 2)
    await store.append("plan", drafts("c"))
    assert await store.append("plan", drafts("a", "b"), key="k", expect=0) == Appended(1, 2, known=True)
    assert await store.append("other", drafts("a"), key="k") == Appended(1, 1)
    assert await texts(store, "plan") == ["1 a", "2 b", "3 c"]


async def test_a_fork_is_a_snapshot_that_goes_its_own_way(store: NotebookStore) -> None:
    await store.append("plan", drafts("a", "b", "c"))
    assert await store.fork("try", await of(store, "plan"), 2)
    assert not await store.fork("try", await of(store, "plan"), 2)
    await store.append("plan", drafts("d"))
    assert await store.append("try", drafts("own"), expect=2) == Appended(3, 3)
    assert await texts(store, "try") == ["1 a", "2 b", "3 own"]
    assert await texts(store, "plan") == ["1 a", "2 b", "3 c", "4 d"]
    assert await store.fork("again", await of(store, "try"), 3)
    assert await store.rollback("again", 1) == 1
    await store.append("again", drafts("x", "y"))
    assert await texts(store, "again") == ["1 a", "2 x", "3 y"]
    forked = await of(store, "try")
    assert (forked.parent, forked.at) == ("plan", 2)
    with pytest.raises(NotebookExists):
        await store.fork("try", await of(store, "plan"), 3)
    with pytest.raises(NotebookGone):
        await store.fork("far", await of(store, "plan"), 5)
    with pytest.raises(NotebookGone):
        await store.fork("far", await of(store, "plan"), 1, branch=7)


async def test_what_is_behind_a_rollback_stays_readable_and_can_be_forked(store: NotebookStore) -> None:
    await store.append("plan", drafts("a", "b", "c"))
    assert await store.rollback("plan", 1, expect=3) == 1
    await store.append("plan", drafts("x"))
    assert await store.rollback("plan", 0) == 2
    await store.append("plan", drafts("new"))
    assert await texts(store, "plan") == ["1 new"]
    assert await texts(store, "plan", 0) == ["1 a", "2 b", "3 c"]
    assert await texts(store, "plan", 1) == ["1 a", "2 x"]
    now = await of(store, "plan")
    assert (now.head, now.branch, now.written) == (1, 2, 5)
    assert [(now.branches[number].at, now.head_of(number)) for number in range(3)] == [(0, 3), (1, 2), (0, 1)]
    await store.fork("back", now, 3, branch=0)
    assert await texts(store, "back") == ["1 a", "2 b", "3 c"]


async def test_a_rollback_has_to_lead_back_from_the_head_that_is_expected(store: NotebookStore) -> None:
    with pytest.raises(NotebookGone):
        await store.rollback("plan", 0)
    await store.append("plan", drafts("a", "b"))
    with pytest.raises(HeadMoved) as moved:
        await store.rollback("plan", 1, expect=1)
    assert moved.value.head == 2
    with pytest.raises(NotebookGone):
        await store.rollback("plan", 3)
    assert await store.rollback("plan", 2) == 0
    assert await texts(store, "plan") == ["1 a", "2 b"]


async def test_anchors_are_found_through_forks_and_branches(store: NotebookStore) -> None:
    await store.append("plan", [*drafts("a"), *drafts("b", kind="anchor"), *drafts("c", "d")])
    await store.rollback("plan", 3)
    await store.append("plan", drafts("e", kind="anchor"))
    await store.fork("try", await of(store, "plan"), 4)
    await store.append("try", [*drafts("f"), *drafts("g", kind="anchor")])
    assert [number async for number in store.anchors((await of(store, "try")).view())] == [6, 4, 2]
    assert [number async for number in store.anchors(cut((await of(store, "try")).view(), 4))] == [4, 2]


async def test_what_was_merged_is_noted_with_the_entries_and_guards_them(store: NotebookStore) -> None:
    await store.append("plan", drafts("a"))
    first = Merging("try", 0, 3, None)
    await store.append("plan", drafts("b"), merging=first)
    with pytest.raises(HeadMoved):
        await store.append("plan", drafts("b"), merging=first)
    await store.append("plan", drafts("c"), merging=Merging("try", 1, 4, Merged(0, 3, 2)))
    assert (await of(store, "plan")).merged == {"try": Merged(1, 4, 3)}
    assert await texts(store, "plan") == ["1 a", "2 b", "3 c"]


async def test_a_rebased_fork_goes_on_from_the_other_notebook_and_keeps_what_it_had(store: NotebookStore) -> None:
    await store.append("plan", drafts("a", "b"))
    await store.fork("try", await of(store, "plan"), 1)
    await store.append("try", drafts("own"))
    await store.append("plan", drafts("c"))
    with pytest.raises(HeadMoved):
        await store.rebase("try", await of(store, "plan"), expect=1)
    assert await store.rebase("try", await of(store, "plan"), expect=2) == 1
    await store.append("try", drafts("more"))
    await store.append("plan", drafts("d"))
    assert await texts(store, "try") == ["1 a", "2 b", "3 c", "4 more"]
    assert await texts(store, "try", 0) == ["1 a", "2 own"]
    assert (await of(store, "try")).at == 3
    await store.rollback("try", 1)
    assert await texts(store, "try") == ["1 a"]
    assert await texts(store, "try", 1) == ["1 a", "2 b", "3 c", "4 more"]


async def test_bounds_are_kept(store: NotebookStore) -> None:
    await store.append("plan", drafts(*"abcdefg"))
    with pytest.raises(NotebookFull):
        await store.append("plan", drafts("h", "i"))
    await store.rollback("plan", 0)
    assert await store.append("plan", drafts("h")) == Appended(1, 1)
    with pytest.raises(NotebookFull):
        await store.append("plan", drafts("i"))
    for name in ("two", "three", "four"):
        await store.append(name, drafts("a"))
    with pytest.raises(NotebookFull):
        await store.append("five", drafts("a"))
    with pytest.raises(NotebookFull):
        await store.fork("five", await of(store, "two"), 1)
    await store.append("four", drafts("b"))


async def test_who_follows_a_notebook_hears_of_every_change(store: NotebookStore) -> None:
    async with store.following("plan") as following, store.following("other") as other:
        for change in (lambda: store.append("plan", drafts("a", "b")), lambda: store.rollback("plan", 1)):
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(following.news)
                    await anyio.wait_all_tasks_blocked()
                    await change()
        if not isinstance(store, MemoryNotebooks):
            with anyio.move_on_after(0.2) as limit:
                await other.news()
            assert limit.cancelled_caught


# Against a plain model.


@dataclass
class Model:
    """Notebooks as lists: as they are, and as they were before each rollback."""

    now: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, list[list[str]]] = field(default_factory=dict)


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("append"), NAMES, st.integers(1, 4), st.integers(-1, 9)),
    st.tuples(st.just("rollback"), NAMES, st.integers(0, 9), st.integers(-1, 9)),
    st.tuples(st.just("fork"), NAMES, NAMES, st.integers(0, 9)),
)


async def step(store: NotebookStore, model: Model, number: int, deed: Sequence[Any]) -> None:
    kind, name, what, more = deed
    here = model.now.get(name)
    if kind == "append":
        await _append(store, model, name, [f"{number}.{each}" for each in range(what)], None if more < 0 else more)
    elif kind == "rollback":
        expect = None if more < 0 else more
        try:
            await store.rollback(name, what, expect=expect)
        except (HeadMoved, NotebookGone):
            assert here is None or expect not in (None, len(here)) or what > len(here)
            return
        assert here is not None
        if what < len(here):
            model.left[name].append(here)
            model.now[name] = here[:what]
    elif here is not None:
        try:
            await store.fork(what, await of(store, name), more)
        except (NotebookExists, NotebookGone):
            assert what in model.now or more > len(here)
            return
        if what not in model.now:
            model.now[what], model.left[what] = here[:more], []


async def _append(store: NotebookStore, model: Model, name: str, words: list[str], expect: int | None) -> None:
    before = model.now.get(name, [])
    try:
        done = await store.append(name, drafts(*words), expect=expect)
    except HeadMoved as moved:
        head = moved.head
    else:
        model.now[name] = [*before, *words]
        model.left.setdefault(name, [])
        assert (done.first, done.last) == (len(before) + 1, len(model.now[name]))
        assert expect in (None, len(before))
        return
    assert head == len(before)
    assert expect not in (None, head)


async def check(store: NotebookStore, model: Model) -> None:
    assert list(await store.names()) == sorted(model.now)
    for name, words in model.now.items():
        assert await texts(store, name) == [f"{at} {word}" for at, word in enumerate(words, 1)]
        notebook = await of(store, name)
        for branch, left in enumerate(model.left[name]):
            assert await texts(store, name, branch) == [f"{at} {word}" for at, word in enumerate(left, 1)]
            shared = common(notebook.view(), notebook.view(branch))
            assert words[:shared] == left[:shared]
            assert words[: shared + 1] != left[: shared + 1] or shared == len(words) == len(left)


async def follow_steps(store: NotebookStore, deeds: Sequence[Sequence[Any]]) -> None:
    model = Model()
    for number, deed in enumerate(deeds):
        await step(store, model, number, deed)
    await check(store, model)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(STEPS, max_size=25))
def test_notebooks_in_memory_do_what_plain_lists_do(deeds: list[Any]) -> None:
    anyio.run(follow_steps, MemoryNotebooks(), deeds)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(deeds=st.lists(STEPS, max_size=25))
def test_notebooks_on_a_server_do_what_plain_lists_do(valkey_socket: Path, deeds: list[Any]) -> None:
    async def run() -> None:
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(open_connection(valkey_socket, patience_s=20))

            async def empty(client: Redis) -> Any:
                return await client.flushall()

            await connection.retrying(empty, "")
            await follow_steps(RedisNotebooks(connection, TapeNews(connection)), deeds)

    anyio.run(run)


async def test_a_notebook_is_deleted_unless_it_was_changed_or_forked_meanwhile(store: NotebookStore) -> None:
    await store.append("old", drafts("one", "two"))
    seen = (await store.names())["old"]
    await store.append("old", drafts("three"))
    assert not await store.delete("old", seen)
    changed, old = (await store.names())["old"], await of(store, "old")
    await store.fork("fork", old, 2)
    assert not await store.delete("old", changed)
    assert await store.delete("fork", (await store.names())["fork"])
    assert await store.delete("old", (await store.names())["old"])
    assert (await store.names(), await store.find("old")) == ({}, None)
    for copy in (store.fork("late", old, 2), store.delete("old", changed)):
        with suppress(NotebookGone):
            assert not await copy
    assert await store.find("late") is None
    assert await store.append("old", drafts("anew")) == Appended(1, 1)
    assert await texts(store, "old") == ["1 anew"]
