"""What every FileStore does."""

from __future__ import annotations

import pytest

from runtime.core.errors import FileTooLarge
from runtime.core.files import MAX_FILE_BYTES, FileHead
from tests.contract.conftest import FILE_BOUND_BYTES, Stores

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x80 bytes \r\n", "Grüße".encode(), bytes(range(256)) * 3_000])
async def test_a_file_comes_back_byte_for_byte(stores: Stores, data: bytes) -> None:
    kept = await stores.files.keep(data, "text/csv")
    found = await stores.files.content(kept)
    assert found is not None
    assert (found.data, found.media_type) == (data, "text/csv")
    assert await stores.files.head(kept) == FileHead("text/csv", len(data))


async def test_the_same_content_has_the_same_id_and_another_type_another_one(stores: Stores) -> None:
    kept = await stores.files.keep(b"a,b", "text/csv")
    assert await stores.files.keep(b"a,b", "text/csv") == kept
    assert await stores.files.keep(b"a,b", "text/plain") != kept
    assert await stores.files.keep(b"a,c", "text/csv") != kept


async def test_what_was_never_kept_is_not_there(stores: Stores) -> None:
    assert await stores.files.content("0" * 64) is None
    assert await stores.files.head("../lobby") is None


async def test_too_long_a_file_is_refused(stores: Stores) -> None:
    with pytest.raises(FileTooLarge, match="at most"):
        await stores.files.keep(b"x" * (MAX_FILE_BYTES + 1), "text/plain")


async def test_the_oldest_files_go_when_there_are_too_many(stores: Stores) -> None:
    third = FILE_BOUND_BYTES // 3
    first, second, third_one = [await stores.files.keep(letter * third, "text/plain") for letter in (b"a", b"b", b"c")]
    assert await stores.files.keep(b"a" * third, "text/plain") == first
    fourth = await stores.files.keep(b"d" * third, "text/plain")
    heads = [await stores.files.head(kept) is not None for kept in (first, second, third_one, fourth)]
    assert heads == [True, False, True, True]
    again = await stores.files.keep(b"b" * third, "text/plain")
    assert again == second
    assert await stores.files.content(second) is not None
    assert await stores.files.head(third_one) is None
