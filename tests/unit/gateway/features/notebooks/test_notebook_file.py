"""Files of JSON lines, however they arrive."""

from collections.abc import AsyncIterator, Sequence

import pytest

from gateway.features.notebooks.store import MAX_ENTRY_BYTES, UNREADABLE_LINE
from gateway.features.notebooks.writing import LINES_AT_ONCE, BadLine, Portion, ReadFile, portions

LINE = b'{"id":1,"kind":"message","payload":{"text":"\xe6\x95\xb0"}}\n'


async def in_pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
    for first in range(0, len(content), size):
        yield content[first : first + size]


async def read(content: bytes, size: int = 1 << 16) -> tuple[Sequence[Portion], ReadFile]:
    found = ReadFile()
    return [portion async for portion in portions(in_pieces(content, size), found)], found


async def test_portions_and_their_keys_are_the_same_in_whatever_pieces_a_file_arrives() -> None:
    content = LINE * (LINES_AT_ONCE + 7) + b"\n\xe6\x95\xb0\n" + LINE[:-9]
    whole, found = await read(content)
    assert [len(portion.drafts) for portion in whole] == [LINES_AT_ONCE, 9]
    assert (found.unreadable, found.torn) == ([508, 509], (510, len(LINE) - 9))
    for size in (1, 7, 4_096):
        assert await read(content, size) == (whole, found)


async def test_a_file_that_goes_on_has_the_keys_of_its_beginning() -> None:
    short, _ = await read(LINE * 2 * LINES_AT_ONCE)
    long, _ = await read(LINE * 3 * LINES_AT_ONCE)
    assert [portion.key for portion in long[:2]] == [portion.key for portion in short]
    assert len({portion.key for portion in long}) == 3


async def test_only_the_last_line_can_be_torn_and_one_that_is_whole_needs_no_end() -> None:
    for end in range(1, len(LINE)):
        (portion, *more), found = await read(LINE + LINE[:end])
        whole = end >= len(LINE) - 1
        assert more == []
        assert len(portion.drafts) == 1 + whole
        assert found.torn == (None if whole else (2, end))
    (portion,), found = await read(LINE[:20] + b"\n" + LINE)
    assert [draft.kind for draft in portion.drafts] == [UNREADABLE_LINE, "message"]
    assert found.torn is None


@pytest.mark.parametrize("line", [b"\xff", b"x" * (MAX_ENTRY_BYTES + 1)])
async def test_a_line_that_cannot_be_kept_is_named(line: bytes) -> None:
    with pytest.raises(BadLine, match="line 2"):
        await read(LINE + line + b"\n", 1_000)


@pytest.mark.parametrize(
    "line", [b"[1]", b'{"kind": 7}', b'{"kind": ""}', b"null", b"", b'"kind"', b'{"kind":"\\ud800"}', b"[" * 9_999]
)
async def test_what_is_no_entry_is_kept_as_it_is(line: bytes) -> None:
    (portion,), found = await read(line + b"\n")
    assert [(draft.kind, draft.line, draft.raw) for draft in portion.drafts] == [(UNREADABLE_LINE, line.decode(), True)]
    assert found.unreadable == [1]
