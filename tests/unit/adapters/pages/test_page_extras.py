"""What comes with a page besides its text: choices, a file, a quote, people; drafts, deletions, and what is checked."""

from typing import Any

import pytest
from msgspec.structs import replace

from adapters.adapter import Call
from runtime.core.errors import AdapterError, NotDelivered, ShownDiffers
from runtime.core.message import Attachment, Choice
from runtime.core.page import PageSpec
from tests.fakes.platforms.rich_platform import DRAFTS, LOST, NEVER_CAME, STREAM, rich_capabilities
from tests.unit.adapters.pages.presenting import HOST, ROOM, shown_on

PLAIN = rich_capabilities()
YES_NO = (Choice("q1.y", "Yes"), Choice("q1.n", "No"))


def attached(url: str = "store:1", size: int | None = None) -> Attachment:
    return Attachment("report.pdf", "application/pdf", url, size)


async def test_only_the_first_message_of_a_page_quotes_what_it_answers() -> None:
    async with shown_on(PLAIN) as show:
        page = show.page(reply_to="m7")
        text = await show.grow(page, 100)
        show.finish(page, text)
        await show.clock.advance(60)
        assert show.platform.quoted == ["m7", None]


async def test_nothing_is_quoted_where_the_platform_cannot() -> None:
    async with shown_on(replace(PLAIN, quotes=False)) as show:
        show.finish(show.page(reply_to="m7"), "an answer")
        await show.clock.advance(5)
        assert show.platform.quoted == [None]


async def test_choices_are_offered_once_under_the_last_message_when_the_text_is_whole() -> None:
    async with shown_on(PLAIN) as show:
        page = show.page(choices=YES_NO)
        text = await show.grow(page, 100)
        assert show.platform.offered == {}
        show.finish(page, text)
        await show.clock.advance(60)
        assert show.platform.offered == {"2": YES_NO}
        assert show.words == text.split()
        assert show.platform.kinds["offer"] == 1
        assert show.results == {"p": True}


@pytest.mark.parametrize("fault", [LOST, NEVER_CAME], ids=["applied", "not applied"])
async def test_choices_are_offered_again_after_an_unclear_answer(fault: tuple[AdapterError, bool]) -> None:
    async with shown_on(PLAIN) as show:
        show.platform.trouble["offer"].append(fault)
        show.finish(show.page(choices=YES_NO), "Shall I?")
        await show.clock.advance(20)
        assert show.platform.offered == {"1": YES_NO}
        assert show.platform.kinds["offer"] == 2


async def test_choices_are_offered_after_a_restart() -> None:
    async with shown_on(PLAIN) as show:
        show.platform.messages["7"] = "Shall I?"
        show.finish(show.page(parts={0: "7"}, choices=YES_NO), "Shall I?")
        await show.clock.advance(10)
        assert show.platform.offered == {"7": YES_NO}
        assert show.shown == ["Shall I?"]


@pytest.mark.parametrize(
    "choices", [tuple(Choice(f"q{n}", f"Way {n}") for n in range(5)), (Choice("q0", "a label that is far too long"),)]
)
async def test_choices_without_room_are_a_numbered_list_in_the_text(choices: tuple[Choice, ...]) -> None:
    async with shown_on(PLAIN) as show:
        page = show.page(choices=choices)
        show.finish(page, "Which one?")
        await show.clock.advance(10)
        listed = "\n".join(f"{number}. {choice.label}" for number, choice in enumerate(choices, 1))
        assert show.shown == [f"Which one?\n\n{listed}"]
        assert show.platform.kinds["offer"] == 0


@pytest.mark.parametrize(
    ("chosen", "line"), [("", ""), ("✓ Yes, by Anna", "\n\n✓ Yes, by Anna"), (f"✓ {'Yes' * PLAIN.max_text}", "")]
)
async def test_what_was_chosen_takes_the_choices_place_where_there_is_room_and_the_text_stays(
    chosen: str, line: str
) -> None:
    async with shown_on(PLAIN) as show:
        said: dict[str, Any] = {"choices": YES_NO, "people": {"Anna": "fake:1"}}
        show.finish(show.page(**said), "Shall I, @Anna?")
        await show.clock.advance(10)
        show.tasks.start_soon(
            show.presenter.settle, PageSpec("p", ROOM, HOST, show.journal.sent_parts, **said), "Shall I, @Anna?", chosen
        )
        await show.clock.advance(10)
        assert show.platform.offered == {"1": ()}
        assert show.shown == [f"Shall I, [@Anna](person:fake:1)?{line}"]


_STREAM_TROUBLES: tuple[dict[Call | str, list[tuple[AdapterError, bool]]], ...] = (
    {},
    {"open_stream": [NEVER_CAME]},
    {"open_stream": [LOST]},
    {"open_stream": [NEVER_CAME, LOST]},
    {"open_stream": [NEVER_CAME] * 9},
    {"close_stream": [LOST]},
    {"close_stream": [NEVER_CAME, LOST]},
    {"open_stream": [NEVER_CAME], "close_stream": [NEVER_CAME]},
)


def _paragraphs(count: int) -> str:
    return "\n\n".join(f"Paragraph {n} of what it is about, *quite* long." for n in range(count))


_CODE = "See:\n```python\n" + "\n".join(f"line = {n}  # of the code" for n in range(12)) + "\n```\nDo that now?"


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        *((text, trouble) for text in (_paragraphs(8), _CODE) for trouble in _STREAM_TROUBLES),
        (_paragraphs(24), {}),  # more than a stream holds
    ],
)
async def test_a_question_in_several_messages_keeps_all_of_them_when_it_is_settled(
    text: str, trouble: dict[Call | str, list[tuple[AdapterError, bool]]]
) -> None:
    async with shown_on(rich_capabilities(stream=STREAM, max_text=110)) as show:
        said: dict[str, Any] = {"choices": YES_NO}
        for call, errors in trouble.items():
            show.platform.trouble[call].extend(errors)
        show.finish(show.page(**said), text)
        await show.clock.advance(200)
        assert show.results == {"p": True}
        before, (last, choices) = show.shown, list(show.platform.offered.items())[-1]
        assert choices == YES_NO
        presenter = show.restarted()
        show.tasks.start_soon(presenter.settle, PageSpec("p", ROOM, HOST, show.journal.sent_parts, **said), text, "")
        await show.clock.advance(20)
        assert show.platform.offered[last] == ()
        assert [shown.rstrip() for shown in show.shown] == [shown.rstrip() for shown in before]


@pytest.mark.parametrize("room", [True, False])
async def test_a_free_answer_has_its_place_only_where_there_is_room_for_it(room: bool) -> None:
    free = (Choice("q1.free", "", free=True),)
    async with shown_on(replace(PLAIN, free_answers=room)) as show:
        said: dict[str, Any] = {"choices": free}
        show.finish(show.page(**said), "What is it about?")
        await show.clock.advance(5)
        assert show.platform.offered == ({"1": free} if room else {})
        show.tasks.start_soon(
            show.presenter.settle, PageSpec("p", ROOM, HOST, show.journal.sent_parts, **said), "What is it about?", ""
        )
        await show.clock.advance(5)
        assert show.platform.offered == ({"1": ()} if room else {})
        assert show.platform.kinds["offer"] == (2 if room else 0)
        assert show.words == ["What", "is", "it", "about?"]


async def test_a_file_is_posted_with_a_short_text_beside_it() -> None:
    async with shown_on(PLAIN) as show:
        page = show.page(file=attached())
        page.update("Here is the")
        await show.clock.advance(3)
        assert show.shown == []
        show.finish(page, "Here is the report.")
        await show.clock.advance(5)
        assert show.shown == ["Here is the report."]
        assert {message: file.name for message, file in show.platform.files.items()} == {"1": "report.pdf"}
        assert show.journal.sent_parts == {0: "1"}


async def test_a_file_alone_needs_no_text() -> None:
    async with shown_on(PLAIN) as show:
        show.finish(show.page(file=attached()), "")
        await show.clock.advance(5)
        assert list(show.platform.files) == ["1"]
        assert show.results == {"p": True}


async def test_a_file_follows_a_long_text_and_is_not_sent_again_after_a_restart() -> None:
    text = "word " * 300
    async with shown_on(PLAIN) as show:
        show.finish(show.page(file=attached()), text)
        await show.clock.advance(60)
        count = len(show.platform.messages)
        assert list(show.platform.files) == [str(count)]
        show.restarted()
        show.finish(show.page(parts=dict(show.journal.sent_parts), file=attached()), text)
        await show.clock.advance(60)
        assert len(show.platform.files) == 1
        assert len(show.platform.messages) == count


@pytest.mark.parametrize("fault", [LOST, NEVER_CAME], ids=["applied", "not applied"])
async def test_an_upload_with_an_unclear_answer_leaves_one_file(fault: tuple[AdapterError, bool]) -> None:
    async with shown_on(PLAIN) as show:
        show.platform.trouble["upload"].append(fault)
        show.finish(show.page(file=attached()), "Here.")
        await show.clock.advance(20)
        assert len(show.platform.files) == len(show.shown) == 1


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (attached(size=5000), "is larger than"),
        (attached("store:2"), "is larger than"),
        (attached("store:9"), "no longer exists"),
    ],
)
async def test_a_file_that_cannot_be_sent_is_named(file: Attachment, said: str) -> None:
    async with shown_on(PLAIN) as show:
        show.finish(show.page(file=file), "Here.")
        await show.clock.advance(10)
        (shown,) = show.shown
        assert shown.startswith("Here.")
        assert "report.pdf" in shown
        assert said in shown
        assert show.results == {"p": True}


async def test_a_refused_file_is_named_and_where_no_files_are_sent_too() -> None:
    async with shown_on(PLAIN) as show:
        show.platform.trouble["upload"].append((NotDelivered("virus"), False))
        show.finish(show.page(file=attached()), "Here.")
        await show.clock.advance(10)
        assert "report.pdf" in show.shown[0]
        assert "page.refused" in show.events
    async with shown_on(replace(PLAIN, max_file_bytes=0)) as show:
        show.finish(show.page(file=attached()), "Here.")
        await show.clock.advance(10)
        assert "report.pdf" in show.shown[0]


async def test_drafts_grow_stay_alive_and_end_as_one_message() -> None:
    async with shown_on(rich_capabilities(preview=DRAFTS)) as show:
        page = show.page()
        text = await show.grow(page, 30)
        await show.clock.advance(3)
        drafts = len(show.platform.drafts)
        await show.clock.advance(40)
        assert show.platform.drafts[drafts:] == [text.rstrip()] * 2
        assert show.shown == []
        show.finish(page, text)
        await show.clock.advance(10)
        assert show.shown == [text]
        assert show.platform.kinds["edit"] == 0


async def test_where_drafts_are_refused_the_text_grows_by_edits() -> None:
    async with shown_on(rich_capabilities(preview=DRAFTS)) as show:
        show.platform.trouble["preview"].append((NotDelivered("no drafts here"), False))
        page = show.page()
        text = await show.grow(page, 60)
        assert len(show.shown) == 1
        show.finish(page, text)
        await show.clock.advance(10)
        assert show.words == text.split()
        assert show.platform.kinds["preview"] == 1


async def test_the_finished_parts_of_a_long_draft_are_messages_at_once() -> None:
    async with shown_on(rich_capabilities(preview=DRAFTS)) as show:
        page = show.page()
        text = await show.grow(page, 100)
        await show.clock.advance(3)
        assert len(show.shown) == 1
        show.finish(page, text)
        await show.clock.advance(20)
        assert show.words == text.split()


async def test_a_message_that_is_not_needed_any_more_is_deleted() -> None:
    async with shown_on(PLAIN) as show:
        page = show.page()
        await show.grow(page, 100)
        await show.clock.advance(10)
        assert len(show.shown) == 2
        show.finish(page, "short after all")
        await show.clock.advance(20)
        assert show.shown == ["short after all"]
        assert show.results == {"p": True}
        assert show.events[-1] == "page.checked"


async def test_without_deletions_a_message_that_is_not_needed_becomes_a_dash() -> None:
    async with shown_on(replace(PLAIN, deletes=False)) as show:
        page = show.page()
        await show.grow(page, 100)
        await show.clock.advance(10)
        show.finish(page, "short after all")
        await show.clock.advance(20)
        assert show.shown == ["short after all", "\u2014"]


async def test_a_message_shown_differently_is_tried_once_more_as_plain_text_and_told() -> None:
    async with shown_on(PLAIN) as show:
        page = show.page()
        page.update("**bold** words at the beginning")
        await show.clock.advance(3)
        show.platform.trouble["edit"].append((ShownDiffers("other words"), True))
        show.finish(page, "**bold** words at the beginning and the end")
        await show.clock.advance(10)
        assert show.shown == ["bold words at the beginning and the end"]
        assert show.events.count("page.diverged") == 1
        assert show.results == {"p": True}


async def test_a_post_shown_differently_for_ever_ends_with_one_message_and_is_told() -> None:
    async with shown_on(PLAIN) as show:
        show.platform.trouble["send"].extend([(ShownDiffers("other place"), True)] * 2)
        show.finish(show.page(), "*hello*")
        await show.clock.advance(20)
        assert show.shown == ["hello"]
        assert show.events.count("page.diverged") == 2
        assert show.results == {"p": True}


async def test_a_message_of_another_page_is_never_taken_over() -> None:
    async with shown_on(PLAIN) as show:
        show.finish(show.page("a"), "the first page")
        await show.clock.advance(5)
        show.finish(show.page("b", parts={0: "1"}), "the second page")
        await show.clock.advance(10)
        assert show.shown == ["the first page", "the second page"]
        assert "page.diverged" in show.events


async def test_every_call_says_what_it_draws_from() -> None:
    async with shown_on(rich_capabilities(stream=STREAM)) as show:
        page = show.page(choices=YES_NO)
        text = await show.grow(page, 60)
        show.finish(page, text)
        await show.clock.advance(20)
        assert {"open_stream", "append", "close_stream", "offer"} <= set(show.platform.drawn)
