"""What people do besides writing, and how every adapter answers it: choices, marks, changes, quotes and files."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.adapter import CanDownload, CanOffer, CanReact, CanUpload, FileData, Inbound
from runtime.core.address import Speaker
from runtime.core.errors import NotDelivered
from runtime.core.message import Choice
from tests.contract.stands.parts import needs
from tests.contract.stands.stand import Stand

pytestmark = pytest.mark.anyio

WRITER = Speaker("1000", "Writer")
CHOICES = (Choice("q1.0", "Yes"), Choice("q1.1", "No"))


async def the(inbound: AsyncIterator[Inbound], act: str) -> Inbound:
    """The next thing of this kind that was done; what comes before it is passed over."""
    item = await anext(inbound)
    while item.act != act:
        item = await anext(inbound)
    return item


def offering(stand: Stand) -> CanOffer:
    assert isinstance(stand.adapter, CanOffer)
    return stand.adapter


async def asked(stand: Stand, adapter: CanOffer) -> str:
    message = await stand.adapter.send(stand.private, "Ship it?", speaker=WRITER, nonce="q1.0", final=True)
    await adapter.offer(stand.private, message, "Ship it?", CHOICES, speaker=WRITER, nonce="q1.0")
    return message


@needs("choices")
async def test_choices_stand_under_the_question_and_a_press_comes_back(stand: Stand) -> None:
    adapter = offering(stand)
    async with stand.listening() as inbound:
        message = await asked(stand, adapter)
        [seen] = await stand.seen(stand.private)
        assert seen.choices == ("Yes", "No")
        await stand.press(stand.private, message, "No")
        item = await the(inbound, "choice")
    assert (item.choice, item.text, item.message_id, item.address) == ("q1.1", "No", message, stand.private)
    assert item.addressed
    assert item.person_name.startswith("Ada")


@needs("choices")
async def test_choices_are_taken_away_and_offering_again_changes_nothing(stand: Stand) -> None:
    adapter = offering(stand)
    message = await asked(stand, adapter)
    await adapter.offer(stand.private, message, "Ship it?", CHOICES, speaker=WRITER, nonce="q1.0")
    await adapter.offer(stand.private, message, "Ship it?", (), speaker=WRITER, nonce="q1.0")
    await adapter.offer(stand.private, message, "Ship it?", (), speaker=WRITER, nonce="q1.0")
    [seen] = await stand.seen(stand.private)
    assert ("Ship it?" in seen.text, seen.choices) == (True, ())


@needs("choices")
async def test_as_many_choices_as_the_capabilities_say_are_taken(stand: Stand) -> None:
    adapter = offering(stand)
    limits = stand.adapter.capabilities
    count = min(limits.max_choices, 25)
    choices = [
        Choice(f"q1.{number}", f"{number} {'x' * limits.max_choice_label}"[: limits.max_choice_label])
        for number in range(count)
    ]
    message = await stand.adapter.send(stand.group, "Which?", speaker=WRITER, nonce="q1.0", final=True)
    await adapter.offer(stand.group, message, "Which?", choices, speaker=WRITER, nonce="q1.0")
    [seen] = await stand.seen(stand.group)
    assert len(seen.choices) == count


@needs("marks")
async def test_our_mark_is_put_on_a_message_replaced_and_taken_away(stand: Stand) -> None:
    assert isinstance(stand.adapter, CanReact)
    async with stand.listening() as inbound:
        message = await stand.say("look", stand.private)
        await anext(inbound)
        await stand.adapter.react(stand.private, message, "queued")
        assert await stand.marks_on(stand.private, message) == 1
        await stand.adapter.react(stand.private, message, "seen")
        await stand.adapter.react(stand.private, message, "seen")
        assert await stand.marks_on(stand.private, message) == 1
        await stand.adapter.react(stand.private, message, None)
        assert await stand.marks_on(stand.private, message) == 0


@needs("marks")
async def test_a_persons_thumb_on_our_message_is_told_and_rates_it(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.adapter.send(stand.private, "done", speaker=WRITER, nonce="p1.0", final=True)
        await stand.mark(stand.private, message)
        item = await the(inbound, "reaction")
    assert (item.message_id, item.address) == (message, stand.private)
    assert item.text
    assert item.rating == "up"


@needs("edits told")
async def test_a_persons_edit_is_told_as_such(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.say("helo", stand.private)
        first = await anext(inbound)
        await stand.rewrite(stand.private, message, "hello")
        edit = await the(inbound, "edit")
        assert (edit.text, edit.message_id, edit.person_id) == ("hello", message, first.person_id)
        assert edit.event_id != first.event_id


@needs("deletions told")
async def test_a_persons_deletion_is_told_as_such(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.say("never mind", stand.private)
        await anext(inbound)
        await stand.withdraw(stand.private, message)
        item = await the(inbound, "deletion")
    assert (item.message_id, item.address) == (message, stand.private)


@needs("quotes")
async def test_a_reply_to_a_message_of_ours_is_addressed_and_quotes_it(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.adapter.send(stand.group, "a bold claim", speaker=WRITER, nonce="p1.0", final=True)
        await stand.reply("are you sure?", stand.group, message)
        item = await anext(inbound)
    assert (item.text, item.addressed) == ("are you sure?", True)
    assert item.quote is not None
    assert (item.quote.message_id, "a bold claim" in item.quote.text) == (message, True)


@needs("quotes")
async def test_an_answer_quotes_the_message_that_it_answers(stand: Stand) -> None:
    async with stand.listening() as inbound:
        message = await stand.say("what is it?", stand.private)
        await anext(inbound)
        await stand.adapter.send(stand.private, "42", speaker=WRITER, nonce="a.0", final=True, reply_to=message)
    [seen] = await stand.seen(stand.private)
    assert seen.answers == message


async def test_an_answer_to_a_message_that_is_gone_is_posted_all_the_same(stand: Stand) -> None:
    gone = await stand.adapter.send(stand.private, "soon gone", speaker=WRITER, nonce="g.0", final=True)
    try:
        await stand.remove(stand.private, gone)
    except LookupError:
        gone = "00000000-0000-0000-0000-000000000000"
    await stand.adapter.send(stand.private, "42", speaker=WRITER, nonce="a.0", final=True, reply_to=gone)
    assert "42" in (await stand.seen(stand.private))[-1].text


async def test_a_known_person_is_mentioned_in_the_platforms_own_way(stand: Stand) -> None:
    async with stand.listening() as inbound:
        await stand.say("hello", stand.group, by="bob")
        bob = await anext(inbound)
    text = f"[@Bob](person:{bob.person_id}), please look"
    await stand.adapter.send(bob.address, text, speaker=WRITER, nonce="m.0", final=True)
    [seen] = [each for each in await stand.seen(bob.address) if "please look" in each.text]
    assert seen.pings


@needs("files")
async def test_a_file_is_posted_once_under_its_name(stand: Stand) -> None:
    assert isinstance(stand.adapter, CanUpload)
    file = FileData("notes.txt", "text/plain", b"a line\n")
    await stand.adapter.upload(stand.group, file, "my notes", speaker=WRITER, nonce="f.0")
    [seen] = await stand.seen(stand.group)
    assert (seen.files, "my notes" in seen.text) == (("notes.txt",), True)


@needs("downloads")
async def test_a_file_that_is_not_there_cannot_be_fetched(stand: Stand) -> None:
    assert isinstance(stand.adapter, CanDownload)
    with pytest.raises(NotDelivered):
        await stand.adapter.download("nowhere:nothing", max_bytes=1000)
