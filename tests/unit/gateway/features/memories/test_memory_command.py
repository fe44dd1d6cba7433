"""/memory: people see what is remembered of them where they ask, and delete it."""

from typing import Any

import pytest
from msgspec.structs import replace

from gateway.features.memories.node import remembers
from gateway.inbound.routing import Route, Routes
from runtime.core.errors import ConfigError
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.memories import NOBODY, MemoryScope, StoredMemory
from tests.unit.gateway.inbound.arrivals import NOW, TEXTS, Door, event, opened

ADA, BOB = "test:42", "test:43"
PRIVATE, GROUP = MemoryScope("person", "one", ADA), MemoryScope("place", "one", "test:7")
DATE = f"{NOW:%Y-%m-%d}"
ENDS = TEXTS("memory.ends")


async def door(*kept: tuple[str, MemoryScope, str], tells_alone: bool = False, answers_alone: bool = False) -> Door:
    made = Door(await opened("open"), tells_alone=tells_alone, answers_alone=answers_alone)
    for number, (text, scope, owner) in enumerate(kept, 1):
        memory = StoredMemory(str(number), scope, owner, "", text, NOW.timestamp() + number, "test:1", SessionId("s"))
        await made.memories.keep(memory, keep_s=1e9)
    return made


async def asked(at: Door, text: str = "", **more: Any) -> str:
    """The last answer to the command."""
    await at.take(event(text, command="memory", id=f"m{len(at.told)}{len(at.alone)}{text}", **more))
    return at.alone[-1][2] if at.alone else at.said[-1]


async def test_a_person_sees_in_private_what_is_remembered_for_their_private_chats() -> None:
    made = await door(
        ("eats no meat", PRIVATE, ADA), ("likes tea", GROUP, ADA), ("bobs", replace(PRIVATE, whose=BOB), BOB)
    )
    assert await asked(made) == (
        "What I remember about you, only for our private chats (1 of at most 200):\n"
        f"- 1: “eats no meat” ({DATE})\n\n{ENDS}"
    )


async def test_in_a_group_they_see_what_was_said_there_and_only_they_read_it_where_that_is_possible() -> None:
    kept = (("likes tea", GROUP, ADA), ("bobs", GROUP, BOB), ("Tuesdays", GROUP, NOBODY), ("secret", PRIVATE, ADA))
    told = (
        "What I remember about you in this place, and about the place itself, only for use here (2 of at most 500):\n"
        f"- 1: “likes tea” ({DATE})\n- 3: this place: “Tuesdays” ({DATE})\n\n{ENDS}"
    )
    aloud = await door(*kept)
    assert await asked(aloud, chat="7", private=False) == TEXTS("memory.alone_only")
    for way in ({"tells_alone": True}, {"answers_alone": True}):
        alone = await door(*kept, **way)
        await alone.take(event("", command="memory", chat="7", private=False))
        assert alone.alone == [("test:7", ADA, told)]
        assert alone.said == []


async def test_one_of_them_can_be_forgotten_by_its_number_with_what_it_replaced() -> None:
    made = await door(("lives in Oslo", PRIVATE, ADA), ("has a dog", PRIVATE, ADA))
    newer = StoredMemory(
        "3", PRIVATE, ADA, "", "lives in Bergen", NOW.timestamp() + 9, "test:1", SessionId("s"), replaces=("1",)
    )
    await made.memories.keep(newer, keep_s=1e9)
    assert "- 1: " not in await asked(made)
    assert await asked(made, "forget 3") == "I have forgotten memory 3 and the ones that it had replaced."
    assert made.memories.texts() == ["has a dog"]
    assert await asked(made, "forget 3") == "There is no memory 3 of yours here. /memory shows them."
    assert await asked(made, "forget") == TEXTS("memory.which")


async def test_nobody_can_forget_or_see_what_is_remembered_of_another() -> None:
    made = await door(("bobs", GROUP, BOB), answers_alone=True)
    assert await asked(made, "forget 1", chat="7", private=False) == TEXTS("memory.unknown", number=1)
    assert await asked(made, chat="7", private=False) == TEXTS("memory.none_place")
    assert made.memories.texts() == ["bobs"]


async def test_all_of_ones_own_is_forgotten_at_once_and_nothing_of_others() -> None:
    made = await door(("likes tea", GROUP, ADA), ("bobs", GROUP, BOB), ("Tuesdays", GROUP, NOBODY), answers_alone=True)
    assert await asked(made, "forget all", chat="7", private=False) == TEXTS("memory.forgot_all", count=1)
    assert made.memories.texts() == ["bobs", "Tuesdays"]


async def test_memory_can_be_turned_off_and_on_by_each_person() -> None:
    made = await door(("eats no meat", PRIVATE, ADA))
    assert await asked(made, "off") == TEXTS("memory.turned_off")
    assert (await made.silence.holds("one", ADA), await made.silence.holds("one", BOB)) == (True, False)
    assert (await asked(made)).startswith(TEXTS("memory.off") + "\n")
    assert await asked(made, "on") == TEXTS("memory.turned_on")
    assert not await made.silence.holds("one", ADA)


async def test_a_program_without_memory_says_so() -> None:
    made = Door(await opened("open"), routes=Routes([Route("two", ())]))
    assert await asked(made) == "This program remembers nothing about people."


async def test_what_is_not_understood_is_answered_with_how_it_is_written() -> None:
    assert await asked(await door(), "clear") == TEXTS("memory.usage")


@pytest.mark.parametrize(
    ("said", "route", "otherwise", "on"),
    [
        (None, None, False, False),
        (None, None, True, True),
        (True, None, False, True),
        ("others", None, False, True),
        (False, None, True, False),
        (True, False, True, False),
        (None, True, False, True),
    ],
)
def test_a_route_decides_then_the_program_then_the_settings(
    said: object, route: bool | None, otherwise: bool, on: bool
) -> None:
    made = Program("one", (), "", "", {} if said is None else {"memory": said})
    routes = {} if route is None else {"one": route}
    assert remembers({"one": made}, routes, otherwise=otherwise) == {"one": on}


def test_a_program_that_says_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(ConfigError, match="one: memory is 'perhaps'; write true, false or others"):
        remembers({"one": Program("one", (), "", "", {"memory": "perhaps"})}, {}, otherwise=False)
