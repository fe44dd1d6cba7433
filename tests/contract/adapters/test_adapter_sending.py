"""What every adapter does with what agents say: posted once, changed in place, whole, and nobody is pinged."""

from __future__ import annotations

import re

import pytest

from adapters.adapter import CanDelete, CanEdit
from adapters.capabilities import measure_codepoints, measure_utf16
from adapters.markdown.paging import cut_pages
from runtime.core.address import Address, Speaker
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain, RateLimited
from tests.contract.stands.parts import needs
from tests.contract.stands.stand import Seen, Stand, Trouble

pytestmark = pytest.mark.anyio

WRITER, CRITIC = Speaker("1000", "Writer"), Speaker("1001", "Critic")


async def send(stand: Stand, text: str, to: Address, *, nonce: str = "p1.0", speaker: Speaker = WRITER) -> str:
    return await stand.adapter.send(to, text, speaker=speaker, nonce=nonce, final=True)


async def texts(stand: Stand, to: Address) -> list[str]:
    return [seen.text for seen in await stand.seen(to)]


def editor(stand: Stand) -> CanEdit:
    assert isinstance(stand.adapter, CanEdit)
    return stand.adapter


def words(count: int) -> str:
    return " ".join(f"w{number:05d}" for number in range(count))


def words_in(seen: list[Seen]) -> list[str]:
    return re.findall(r"w\d{5}", " ".join(each.text for each in seen))


async def test_what_is_sent_is_seen_once_and_in_order(stand: Stand) -> None:
    for number in range(3):
        await send(stand, f"sentence {number}", stand.private, nonce=f"p{number}.0")
    assert [re.sub(r"\W+", " ", text).strip() for text in await texts(stand, stand.private)] == [
        "sentence 0",
        "sentence 1",
        "sentence 2",
    ]


async def test_agents_are_told_apart_in_a_group(stand: Stand) -> None:
    await send(stand, "a draft", stand.group, nonce="a.0", speaker=WRITER)
    await send(stand, "a doubt", stand.group, nonce="b.0", speaker=CRITIC)
    shown = [f"{each.author} {each.text}" for each in await stand.seen(stand.group)]
    assert ["Writer" in shown[0], "Critic" in shown[0]] == [True, False]
    assert ["Writer" in shown[1], "Critic" in shown[1]] == [False, True]


@needs("threads")
async def test_what_is_said_in_a_thread_stays_there(stand: Stand) -> None:
    topic = await stand.topic()
    assert topic is not None
    await send(stand, "within", topic)
    assert any("within" in text for text in await texts(stand, topic))
    assert not any("within" in text for text in await texts(stand, stand.group))


@needs("editing")
async def test_an_edit_changes_the_message_and_adds_none(stand: Stand) -> None:
    adapter = editor(stand)
    message = await send(stand, "half", stand.group)
    await adapter.edit(stand.group, message, "half and half", speaker=WRITER, nonce="p1.0", final=True)
    await adapter.edit(stand.group, message, "half and half", speaker=WRITER, nonce="p1.0", final=True)
    assert ["half and half" in text for text in await texts(stand, stand.group)] == [True]


@needs("editing")
async def test_an_edit_of_a_message_that_is_gone_says_so(stand: Stand) -> None:
    adapter = editor(stand)
    message = await send(stand, "here", stand.private)
    try:
        await stand.remove(stand.private, message)
    except LookupError:
        assert isinstance(stand.adapter, CanDelete)
        await stand.adapter.delete(stand.private, message, speaker=WRITER)
    with pytest.raises(MessageGone):
        await adapter.edit(stand.private, message, "there", speaker=WRITER, nonce="p1.0", final=True)


@needs("deleting")
async def test_a_deleted_message_is_seen_no_more_and_deleting_again_is_no_error(stand: Stand) -> None:
    assert isinstance(stand.adapter, CanDelete)
    message = await send(stand, "a slip", stand.group)
    await stand.adapter.delete(stand.group, message, speaker=WRITER)
    assert await texts(stand, stand.group) == []
    await stand.adapter.delete(stand.group, message, speaker=WRITER)


@needs("nonces")
@pytest.mark.parametrize("where", ["private", "group"])
async def test_the_same_nonce_posts_once(stand: Stand, where: str) -> None:
    to: Address = getattr(stand, where)
    stand.trouble("send", to, "answer_lost")
    with pytest.raises(OutcomeUncertain):
        await send(stand, "once", to)
    await send(stand, "once", to)
    assert len(await texts(stand, to)) == 1


@needs("nonces")
async def test_the_same_nonce_posts_once_after_a_restart(stand: Stand) -> None:
    stand.trouble("send", stand.private, "answer_lost")
    with pytest.raises(OutcomeUncertain):
        await send(stand, "once", stand.private)
    async with stand.another() as adapter:
        await adapter.send(stand.private, "once", speaker=WRITER, nonce="p1.0", final=True)
    assert len(await texts(stand, stand.private)) == 1


@needs("editing")
@pytest.mark.parametrize(
    "trouble", [pytest.param("answer_lost", marks=needs("answers that are lost")), "never_arrived"]
)
async def test_a_call_without_an_answer_is_uncertain(stand: Stand, trouble: Trouble) -> None:
    adapter = editor(stand)
    message = await send(stand, "steady", stand.private)
    stand.trouble("edit", stand.private, trouble)
    with pytest.raises(OutcomeUncertain):
        await adapter.edit(stand.private, message, "shaken", speaker=WRITER, nonce="p1.0", final=False)
    await adapter.edit(stand.private, message, "settled", speaker=WRITER, nonce="p1.0", final=True)
    assert ["settled" in text for text in await texts(stand, stand.private)] == [True]


@needs("floods")
async def test_a_flood_says_how_long_to_wait(stand: Stand) -> None:
    stand.trouble("send", stand.group, "flood")
    with pytest.raises(RateLimited) as caught:
        await send(stand, "too fast", stand.group)
    assert caught.value.retry_after_s >= 1


@needs("rights")
async def test_lost_rights_are_final(stand: Stand) -> None:
    stand.trouble("send", stand.private, "forbidden")
    with pytest.raises(NotDelivered):
        await send(stand, "anybody?", stand.private)
    assert await texts(stand, stand.private) == []


HOSTILE = {
    "right_to_left": "مرحبا بالعالم **غامق** \u202emirror\u202c עברית `קוד`",
    "zero_width": "a\u200bb\u200dc\ufeffd \u2060e",
    "nested_fences": "````markdown\n```python\nprint('hi')\n```\n````\nafter",
    "mentions_in_code": "`@everyone` and ```\n<!channel> <@U0BOB> @here\n```",
    "loud_mentions": "@everyone @here @channel <!everyone> <!here> <!channel> <@U0BOB> <@&1> everyone!",
    "emojis": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽" * 66,
    "html": "<b>bold</b> & <script>alert(1)</script> &amp; <a href='javascript:x'>y</a>",
    "half_open": "**bold and `code and [link](http://exa",
    "table": "| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
    "links": "[x](javascript:alert(1)) [y](https://example.org/a_(b)?c=d&e=f) <https://example.org>",
    "stranger": "[@Mallory](person:nobody:1) and @Mallory",
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_hostile_text_is_shown_and_pings_nobody(stand: Stand, case: str) -> None:
    await send(stand, HOSTILE[case] + "\n\nw00001", stand.group)
    [seen] = await stand.seen(stand.group)
    assert words_in([seen]) == ["w00001"]
    assert not seen.pings


async def test_a_long_text_cut_into_pages_is_taken_and_whole(stand: Stand) -> None:
    limits = stand.adapter.capabilities
    measure = measure_utf16 if limits.text_unit == "utf16" else measure_codepoints
    paragraph = words(40).replace("w", "**w", 1).replace(" ", "** ", 1)
    text = "\n\n".join(f"{paragraph}\n\n```python\nx = {number}\n```\n\n- item\n  - `deep`" for number in range(190))
    assert len(text) > 50_000
    for number, cut in enumerate(cut_pages(text, limits.max_text, measure)):
        await send(stand, cut.text, stand.private, nonce=f"p1.{number}")
    assert words_in(await stand.seen(stand.private)) == re.findall(r"w\d{5}", text)


@pytest.mark.parametrize("filler", ["x", "\U0001f600", "é", "&", "<", "*", "_", "|"])
async def test_a_page_of_the_greatest_length_is_taken_whatever_it_is_made_of(stand: Stand, filler: str) -> None:
    limits = stand.adapter.capabilities
    measure = measure_utf16 if limits.text_unit == "utf16" else measure_codepoints
    [first, *_] = cut_pages(filler * limits.max_text + " w00001", limits.max_text, measure)
    await send(stand, first.text, stand.private)
    assert len(await stand.seen(stand.private)) == 1
