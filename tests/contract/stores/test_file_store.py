"""The contract of every FileStore."""

from __future__ import annotations

import pytest

from runtime.core.errors import FileTooLarge
from runtime.core.files import MAX_FILE_BYTES, FileHead
from tests.contract.conftest import FILE_BOUNDS, Stores

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
    third = FILE_BOUNDS.total_bytes // 3
    first, second, third_one = [await stores.files.keep(letter * third, "text/plain") for letter in (b"a", b"b", b"c")]
    assert await stores.files.keep(b"a" * third, "text/plain") == first
    fourth = await stores.files.keep(b"d" * third, "text/plain")
    heads = [await stores.files.head(kept) is not None for kept in (first, second, third_one, fourth)]
    assert heads == [True, False, True, True]
    again = await stores.files.keep(b"b" * third, "text/plain")
    assert again == second
    assert await stores.files.content(second) is not None
    assert await stores.files.head(third_one) is None


async def test_one_person_pushes_out_only_their_own_uploads(stores: Stores) -> None:
    theirs = await stores.files.keep(b"a" * 100_000, "text/plain", person="web:ada")
    flood = [await stores.files.keep(bytes([n]) * 100_000, "text/plain", person="web:eve") for n in range(13)]
    assert await stores.files.content(theirs) is not None
    assert [n for n, id_ in enumerate(flood) if await stores.files.head(id_) is not None] == [10, 11, 12]


async def test_what_came_with_a_message_outlasts_what_is_only_uploaded(stores: Stores) -> None:
    sent = await stores.files.keep(b"a" * 100_000, "text/plain", person="web:ada")
    await stores.files.attach(sent, "web:lobby")
    people = [f"web:{n}" for n in range(12)]
    loose = [await stores.files.keep(who.encode() * 20_000, "text/plain", person=who) for who in people]
    assert await stores.files.head(sent) is not None
    assert await stores.files.head(loose[0]) is None
    assert await stores.files.head(loose[-1]) is not None


async def test_one_conversation_pushes_out_only_its_own_files(stores: Stores) -> None:
    here = await stores.files.keep(b"a" * 100_000, "text/plain", conversation="web:lobby")
    flood = [await stores.files.keep(bytes([n]) * 100_000, "text/plain", conversation="web:den") for n in range(10)]
    assert await stores.files.head(here) is not None
    assert [n for n, id_ in enumerate(flood) if await stores.files.head(id_) is not None] == [4, 5, 6, 7, 8, 9]


async def test_a_file_that_came_with_a_message_stays_so_when_somebody_uploads_the_same(stores: Stores) -> None:
    sent = await stores.files.keep(b"a" * 100_000, "text/plain", conversation="web:lobby")
    assert await stores.files.keep(b"a" * 100_000, "text/plain", person="web:eve") == sent
    for number in range(13):
        await stores.files.keep(bytes([number]) * 100_000, "text/plain", person="web:eve")
    assert await stores.files.head(sent) is not None


async def test_what_is_not_kept_cannot_be_attached(stores: Stores) -> None:
    await stores.files.attach("0" * 64, "web:lobby")
    assert await stores.files.head("0" * 64) is None


async def test_of_too_much_in_all_the_files_of_who_has_sent_most_go_first(stores: Stores) -> None:
    """Eve sends into many conversations; nobody else loses anything, old or not."""
    theirs = [
        await stores.files.keep(name.encode() * 50_000, "text/plain", person=name, conversation=f"web:{name}")
        for name in ("ada", "bob")
    ]
    flood = [
        await stores.files.keep(bytes([n]) * 100_000, "text/plain", person="eve", conversation=f"web:room{n}")
        for n in range(20)
    ]
    assert [await stores.files.head(id_) is not None for id_ in theirs] == [True, True]
    assert [n for n, id_ in enumerate(flood) if await stores.files.head(id_) is not None] == [14, 15, 16, 17, 18, 19]


async def test_who_sends_a_file_again_does_not_make_it_theirs(stores: Stores) -> None:
    theirs = await stores.files.keep(b"a" * 100_000, "text/plain", person="ada", conversation="web:lobby")
    await stores.files.keep(b"a" * 100_000, "text/plain", person="eve", conversation="web:den")
    for n in range(12):
        await stores.files.keep(bytes([n]) * 100_000, "text/plain", person="eve", conversation=f"web:room{n}")
    assert await stores.files.head(theirs) is not None


async def test_files_of_an_agent_are_their_conversations(stores: Stores) -> None:
    here = await stores.files.keep(b"a" * 100_000, "text/plain", conversation="web:lobby")
    for n in range(12):
        await stores.files.keep(bytes([n]) * 100_000, "text/plain", person="eve", conversation=f"web:room{n}")
    assert await stores.files.head(here) is not None
