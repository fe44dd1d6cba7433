"""Search in notebooks over a real index."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from gateway.features.notebooks.search import search as searching
from gateway.features.notebooks.search.index import (
    Filters,
    IndexedEntry,
    Phrase,
    SearchIndex,
    Shelf,
    match_of,
    meant,
    words_of,
)
from gateway.features.notebooks.search.routes import EXCERPT_CHARS, excerpts
from gateway.features.notebooks.search.search import NoIndex, NotebookSearch
from gateway.features.notebooks.store import Draft, EntryRange, NotebookEntry, entry_line
from tests.fakes.clock import FakeClock
from tests.fakes.memory.notebooks import MemoryNotebooks


def draft(text: str, kind: str = "message", date: str = "2026-11-23T09:00:00+00:00") -> Draft:
    return Draft(kind, entry_line(kind, {"role": "user", "parts": [{"text": text}]}, {}, date))


class Desk:
    """A store, and a search in it."""

    def __init__(self, path: Path) -> None:
        self.store = MemoryNotebooks()
        self.path = path / "index"
        self.search = NotebookSearch(self.store, self.path)

    def close(self) -> None:
        self.search.close()

    async def write(self, *texts: str, name: str = "plan") -> None:
        await self.store.append(name, [draft(text) for text in texts])

    async def find(self, asked: str, name: str = "plan", filters: Filters | None = None, limit: int = 20) -> list[int]:
        notebook = await self.store.find(name)
        assert notebook is not None
        found = await self.search.in_notebook(notebook, asked, filters or Filters(), limit)
        assert {tape for tape, _ in found.hits} <= {name}
        return sorted(entry.id for _, entry in found.hits)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk(tmp_path)) as made:
        yield made


async def test_all_words_have_to_be_there_in_any_letters_and_without_accents(desk: Desk) -> None:
    await desk.write("The Café opens", "A cafe closes; nothing opens.", "nothing")
    assert await desk.find("cafe OPENS") == [1, 2]
    assert await desk.find("nothing café") == [2]
    assert await desk.find("user") == [1, 2, 3]
    assert await desk.find("role") == []
    assert await desk.find("...") == []


async def test_words_with_typing_errors_are_found(desk: Desk) -> None:
    await desk.write("the database migration failed", "databases", "the data base")
    assert await desk.find("databse migraton") == [1]
    assert await desk.find("dtaabase") == [1]
    assert await desk.find("databose") == [1]
    assert await desk.find("teh") == []
    assert await desk.find("database") == [1]
    assert await desk.find("dotobose") == []


async def test_chinese_is_found_by_two_characters_by_one_and_by_many(desk: Desk) -> None:
    await desk.write("数据库迁移完成", "据说数字库存", "GPU数据 ready", "データベース")
    assert await desk.find("数据") == [1, 3]
    assert await desk.find("据库") == [1]
    assert await desk.find("数据库") == [1]
    assert await desk.find("库") == [1, 2]
    assert await desk.find("据") == [1, 2, 3]
    assert await desk.find("数据 ready") == [3]
    assert await desk.find("ベース") == [4]
    assert await desk.find("库迁") == [1]


async def test_a_phrase_is_found_as_it_stands(desk: Desk) -> None:
    await desk.write("move the table to the left", "the left table", "把 数据库 移走")
    assert await desk.find("the left") == [1, 2]
    assert await desk.find('"the left"') == [1, 2]
    assert await desk.find('"the table"') == [1]
    assert await desk.find('"left table" the') == [2]
    assert await desk.find('"数据库 移走"') == [3]
    assert await desk.find('"table to') == [1]


async def test_kinds_and_dates_are_filters_and_the_latest_come_first(desk: Desk) -> None:
    dates = ["2026-11-20T12:00:00+02:00", "2026-11-21T00:30:00+01:00", "2026-11-22"]
    await desk.store.append("plan", [draft("word", date=date) for date in dates])
    await desk.store.append("plan", [draft("word", "error")])
    assert await desk.find("word", filters=Filters(("error",))) == [4]
    assert await desk.find("word", filters=Filters(first="2026-11-21T00:00:00+00:00")) == [3, 4]
    assert await desk.find("word", filters=Filters(last="2026-11-20T23:30:00+00:00")) == [1, 2]
    assert await desk.find("word", limit=2) == [3, 4]


async def test_a_fork_is_searched_with_what_it_took_over_and_nothing_behind_a_rollback_is_found(desk: Desk) -> None:
    await desk.write("one word", "two words", "three word")
    origin = await desk.store.find("plan")
    assert origin is not None
    await desk.store.fork("try", origin, 2)
    await desk.write("own word", name="try")
    assert await desk.find("word", "try") == [1, 3]
    await desk.store.rollback("plan", 1)
    await desk.write("new word")
    assert await desk.find("word") == [1, 2]
    assert await desk.find("three") == []
    found = await desk.search.in_all(lambda _: True, "word", Filters(), 20)
    assert sorted((tape, entry.id) for tape, entry in found.hits) == [("plan", 1), ("plan", 2), ("try", 3)]


async def test_an_index_that_is_gone_spoilt_or_of_another_version_is_made_anew(desk: Desk) -> None:
    await desk.write("one word")
    assert await desk.find("word") == [1]
    desk.close()
    desk.path.write_bytes(b"this is no database, " * 1_000)
    desk.search = NotebookSearch(desk.store, desk.path)
    assert await desk.find("word") == [1]
    desk.close()
    with closing(sqlite3.connect(desk.path)) as base:
        base.execute("PRAGMA user_version = 99")
    desk.search = NotebookSearch(desk.store, desk.path)
    assert await desk.find("word") == [1]


async def test_a_search_that_is_closed_finds_nothing_and_leaves_the_index_as_it_is(desk: Desk) -> None:
    await desk.write("one apple")
    assert await desk.find("apple") == [1]
    index = desk.search._index
    desk.close()
    kept = desk.path.read_bytes()
    for _ in range(2):
        with pytest.raises(NoIndex, match="Parley is stopping"):
            await desk.find("apple")
    assert index is not None
    with pytest.raises(NoIndex):  # which a search has got before
        await desk.search._in_thread(index.shelves)
    assert (desk.path.read_bytes(), desk.search._index) == (kept, None)


async def test_a_search_that_is_closed_while_another_one_opens_the_index_leaves_nothing_open(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.write("one apple")
    opened: list[SearchIndex] = []

    def opening(path: Path) -> SearchIndex:
        opened.append(SearchIndex(path))
        desk.close()
        return opened[-1]

    desk.path.touch()
    monkeypatch.setattr(searching, "_open", opening)
    with pytest.raises(NoIndex, match="Parley is stopping"):
        await desk.find("apple")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].shelves()


async def test_searches_that_come_at_once_have_one_index(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.write("one apple")
    thrown: list[Path] = []
    monkeypatch.setattr(SearchIndex, "discard", lambda index: thrown.append(index._path))
    found: list[list[int]] = []

    async def find() -> None:
        found.append(await desk.find("apple"))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(find)
    assert (found, thrown) == ([[1]] * 4, [])


async def test_a_notebook_of_the_same_name_in_another_database_is_another_one(desk: Desk) -> None:
    await desk.write("old word")
    assert await desk.find("old") == [1]
    desk.store = MemoryNotebooks(begun_ms=7)
    desk.search.close()
    desk.search = NotebookSearch(desk.store, desk.path)
    await desk.write("new word")
    assert await desk.find("old") == []
    assert await desk.find("new") == [1]


async def test_no_word_of_a_deleted_notebook_is_left_in_the_file_and_others_are_found_again(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as desk:
        await desk.write("secretword")
        await desk.write("a word that stays", name="other")
        assert (await desk.find("secretword"), await desk.find("stays", name="other")) == ([1], [1])
        assert not await desk.search.forget_deleted()
        await desk.store.delete("plan", (await desk.store.names())["plan"])
        assert await desk.search.forget_deleted()
        assert b"secretword" not in _content(tmp_path)
        assert await desk.find("stays", name="other") == [1]
        assert not await desk.search.forget_deleted()


async def test_a_notebook_that_begins_anew_under_the_name_of_a_deleted_one_leaves_nothing_of_it(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as desk:
        await desk.write("secretword")
        assert await desk.find("secretword") == [1]
        await desk.store.delete("plan", (await desk.store.names())["plan"])
        desk.store.now_ms += 1
        await desk.write("another word")
        assert await desk.find("another") == [1]
        assert await desk.search.forget_deleted()
        assert b"secretword" not in _content(tmp_path)
        assert await desk.find("another") == [1]


class OnceSlept(FakeClock):
    """A clock that says when somebody waits for it: work in threads does not settle by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = anyio.Event()

    async def sleep_until(self, monotonic_s: float, /) -> None:
        self._waits.set()
        await super().sleep_until(monotonic_s)

    async def slept(self) -> None:
        """Return when somebody waits anew."""
        with anyio.fail_after(60):
            await self._waits.wait()
        self._waits = anyio.Event()


async def test_words_of_notebooks_that_others_deleted_are_forgotten_at_the_start_and_at_times(tmp_path: Path) -> None:
    clock = OnceSlept()
    with closing(Desk(tmp_path)) as desk:
        await desk.write("secretword")
        assert await desk.find("secretword") == [1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.search.keep_tidy, clock)
            await clock.slept()
            assert b"secretword" in _content(tmp_path)
            await desk.store.delete("plan", (await desk.store.names())["plan"])
            await clock.advance(searching.TIDIED_EVERY_S)
            await clock.slept()
            assert b"secretword" not in _content(tmp_path)
            tasks.cancel_scope.cancel()


class Sealed(MemoryNotebooks):
    """A store in which everything is encrypted."""

    async def read(self, view: Sequence[EntryRange], /, *, back: bool = False) -> AsyncIterator[NotebookEntry]:
        async for entry in super().read(view, back=back):
            yield replace(entry, sealed=True)


async def test_what_is_encrypted_is_not_in_the_index(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as desk:
        desk.store = Sealed()
        desk.search = NotebookSearch(desk.store, desk.path)
        await desk.write("secretword")
        notebook = await desk.store.find("plan")
        assert notebook is not None
        found = await desk.search.in_notebook(notebook, "secretword", Filters(), 20)
        assert (list(found.hits), found.sealed) == ([], 1)
        desk.search.close()
        assert b"secretword" not in _content(tmp_path)


async def test_where_content_is_encrypted_what_was_indexed_before_is_thrown_away(tmp_path: Path) -> None:
    with closing(Desk(tmp_path)) as desk:
        await desk.write("secretword")
        assert await desk.find("secretword") == [1]
        desk.search.close()
        assert b"secretword" in _content(tmp_path)
        desk.search = NotebookSearch(desk.store, desk.path, sealed=True)
        assert await desk.find("secretword") == []
        desk.search.close()
        assert b"secretword" not in _content(tmp_path)


def _content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_what_there_is_no_time_to_index_is_indexed_by_the_next_searches(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "INDEXED_WITHIN_S", -1.0)
    await desk.write(*["word"] * 3)
    notebook = await desk.store.find("plan")
    assert notebook is not None
    found = await desk.search.in_notebook(notebook, "word", Filters(), 20)
    assert (list(found.hits), found.behind) == ([], True)
    monkeypatch.undo()
    assert await desk.find("word") == [1, 2, 3]


def test_nothing_that_is_asked_can_break_the_question(tmp_path: Path) -> None:
    with closing(SearchIndex(tmp_path / "index")) as index:
        for asked in (
            '"',
            '""',
            "a AND",
            "NEAR(",
            "text:x",
            "n1 -x",
            "'; DROP",
            "* ^ ( )",
            '"a "" b',
            "\x00",
            "🙂",
            "ß",
        ):
            match = match_of(meant(asked, index.spellings))
            if match is not None:
                index._base.execute("SELECT rowid FROM words WHERE words MATCH ?", (f"text : ({match})",)).fetchall()


def test_words_are_cut_where_no_spaces_are() -> None:
    assert words_of("Das Große_Ganze: v2.0 数据库x") == ["das", "grosse", "ganze", "v2", "0", "数据", "据库", "库", "x"]


@pytest.mark.parametrize(
    ("asked", "text", "shown"),
    [
        ("cake", "We share a cake.", "We share a [cake]."),
        ("CAFE", "Two Cafe\u0301s? One Cafe\u0301!", "Two Caf\u00e9s? One [Caf\u00e9]!"),
        ("databse migraton", "🙂 The database migration", "🙂 The [database] [migration]"),
        ('"share a"', "a share a cake", "a [share a] cake"),
        ("据库", "这个数据库迁移", "这个数[据库]迁移"),
        ("数据库", "这个数据库迁移", "这个[数据库]迁移"),
        ("迁", "这个数据库迁移", "这个数据库[迁]移"),
        ("cake pie", "pie, and a\ncake", "[pie], and a\n[cake]"),
    ],
)
def test_an_excerpt_shows_where_the_words_stand(tmp_path: Path, asked: str, text: str, shown: str) -> None:
    with closing(SearchIndex(tmp_path / "index")) as index:
        index.add(Shelf("plan", 0), [IndexedEntry(1, "message", "", words_of(text))])
        parts = meant(asked, index.spellings)
    (pieces,) = excerpts([{"kind": "note", "deep": [{"text": text}, "cak"]}], parts)
    assert "".join(f"[{one['text']}]" if one["found"] else one["text"] for one in pieces) == shown


def test_an_excerpt_is_short_and_begins_before_what_was_found() -> None:
    text = "before " * 4_000
    long = text[:700] + "the cake " + text
    (pieces, nothing) = excerpts([[long], {"text": "the pie"}], [[Phrase(("cake",))]])
    assert nothing == []
    assert (pieces[0]["text"], pieces[-1]["text"]) == ("…", "…")
    assert pieces[1]["text"].startswith("before ")
    assert [one["text"] for one in pieces if one["found"]] == ["cake"]
    assert len("".join(one["text"] for one in pieces)) == EXCERPT_CHARS + 2
