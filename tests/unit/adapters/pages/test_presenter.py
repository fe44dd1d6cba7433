"""Pages on a simulated platform: nothing lost, nothing doubled, in order, within the limits."""

from typing import Any

import pytest

from adapters.capabilities import Budget
from adapters.markdown.paging import PageCut, cut_pages
from adapters.pages.signs import StatusMessages, TypingIndicator
from runtime.core.errors import AuthFailed, BadMarkup, MessageGone, NotDelivered, OutcomeUncertain, RateLimited
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import GROUP, PRIVATE, Faults, make_capabilities
from tests.unit.adapters.pages.presenting import HOST, ROOM, staged


@pytest.mark.parametrize("budget", [PRIVATE, GROUP])
@pytest.mark.parametrize("lost_answers", [0.0, 0.15])
async def test_no_flood_and_every_word_while_the_limits_are_true(budget: Budget, lost_answers: float) -> None:
    capabilities = make_capabilities(budget, idempotent_send=True)
    faults = Faults(lost_answers=lost_answers)
    async with staged(budget, capabilities=capabilities, faults=faults, seed=4) as stage:
        pages = [stage.page(f"p{number}") for number in range(3)]
        texts = [""] * 3
        for number in range(150):
            for index, page in enumerate(pages):
                texts[index] += f"{index}{number:04d} "
                page.update(texts[index])
            await stage.clock.advance(0.05)
        for page, text in zip(pages, texts, strict=True):
            stage.finish(page, text)
        await stage.clock.advance(300)
        assert stage.results == {"p0": True, "p1": True, "p2": True}
        assert stage.shown == texts
        assert stage.platform.floods == 0


async def test_first_text_waits_for_twenty_characters_or_three_tenths() -> None:
    async with staged() as stage:
        page = stage.page()
        page.update("hi")
        await stage.clock.advance(0.29)
        assert stage.platform.calls == 0
        await stage.clock.advance(0.02)
        assert stage.platform.calls == 1


async def test_edit_waits_for_retry_after_and_then_shows_the_newest_text() -> None:
    faults = Faults()
    faults.scripted.append(RateLimited("wait", retry_after_s=40.0))
    async with staged(faults=faults) as stage:
        page = stage.page()
        stage.finish(page, "the end")
        await stage.clock.advance(39)
        assert stage.shown == []
        assert stage.platform.calls == 1
        await stage.clock.advance(3)
        assert stage.shown == ["the end"]
        assert stage.results == {"p": True}


async def test_pages_of_one_conversation_begin_in_the_order_of_their_opening() -> None:
    async with staged() as stage:
        first, second, third = (stage.page(name) for name in ("a", "b", "c"))
        stage.finish(third, "third")
        stage.finish(second, "")
        await stage.clock.advance(5)
        assert stage.shown == []
        first.update("first, at length and alone")
        await stage.clock.advance(5)
        assert stage.shown == ["first, at length and alone", "third"]


async def test_an_abandoned_page_does_not_keep_the_next_one_waiting() -> None:
    async with staged() as stage:
        first, second = stage.page("a"), stage.page("b")
        stage.finish(second, "second")
        await stage.clock.advance(1)
        first.abandon()
        await stage.clock.advance(2)
        assert stage.shown == ["second"]


async def test_a_part_is_recorded_before_it_is_sent_and_when_the_platform_has_it() -> None:
    async with staged() as stage:
        stage.finish(stage.page(), "hello")
        await stage.clock.advance(1)
        assert stage.journal.entries == [("opening", 0, "hello"), ("sent", 0, "1")]
        assert stage.platform.nonces == ["p.0"]


async def test_long_text_continues_in_new_messages_and_no_word_is_lost() -> None:
    async with staged(capabilities=make_capabilities(max_text=200)) as stage:
        page = stage.page()
        text = await stage.grow(page, 100)
        stage.finish(page, text)
        await stage.clock.advance(60)
        assert " ".join(stage.shown).split() == text.split()
        assert all(len(message) <= 200 for message in stage.shown)
        assert stage.results == {"p": True}


async def test_after_a_restart_known_parts_are_edited_and_never_sent_anew() -> None:
    async with staged() as stage:
        stage.platform.messages["7"] = "half of"
        stage.finish(stage.page(parts={0: "7"}), "half of it, and the rest")
        await stage.clock.advance(2)
        assert stage.platform.messages == {"7": "half of it, and the rest"}
        assert stage.journal.entries == []


async def test_a_message_that_is_gone_is_posted_again_under_another_nonce() -> None:
    async with staged() as stage:
        stage.finish(stage.page(parts={0: "99"}), "still here")
        await stage.clock.advance(3)
        assert stage.shown == ["still here"]
        assert stage.platform.nonces == ["p.0+1"]
        assert stage.journal.entries == [("sent", 0, "1")]


async def test_an_unclear_first_send_with_nonces_leaves_one_message_with_the_newest_text() -> None:
    faults = Faults(lost_answers=1.0)
    async with staged(capabilities=make_capabilities(idempotent_send=True), faults=faults) as stage:
        page = stage.page()
        page.update("the first twenty characters")
        await stage.clock.advance(0.5)
        faults.lost_answers = 0.0
        stage.finish(page, "the first twenty characters and more")
        await stage.clock.advance(20)
        assert stage.shown == ["the first twenty characters and more"]
        assert "page.orphaned" not in stage.events


async def test_an_unclear_first_send_without_nonces_is_repeated_and_reported() -> None:
    faults = Faults()
    faults.scripted.append(OutcomeUncertain("time-out"))
    async with staged(faults=faults) as stage:
        stage.finish(stage.page(), "hello")
        await stage.clock.advance(0.9)
        assert stage.platform.calls == 1
        await stage.clock.advance(3)
        assert stage.shown == ["hello"]
        assert stage.events == ["page.orphaned", "page.checked"]


async def test_refused_markup_is_sent_again_as_plain_text() -> None:
    faults = Faults()
    faults.scripted.append(BadMarkup("can't parse entities"))
    async with staged(faults=faults) as stage:
        stage.finish(stage.page(), "**bold** move")
        await stage.clock.advance(3)
        assert stage.shown == ["bold move"]


async def test_a_refused_page_is_given_up_and_the_next_one_shown() -> None:
    faults = Faults()
    faults.scripted.append(NotDelivered("blocked by the user"))
    async with staged(faults=faults) as stage:
        first, second = stage.page("a"), stage.page("b")
        stage.finish(first, "one")
        stage.finish(second, "two")
        await stage.clock.advance(5)
        assert stage.results == {"a": False, "b": True}
        assert "page.refused" in stage.events
        assert stage.shown == ["two"]


async def test_a_refused_token_reaches_whoever_finishes_the_page() -> None:
    faults = Faults()
    faults.scripted.append(AuthFailed("401"))
    async with staged(faults=faults) as stage:
        stage.finish(stage.page(), "one")
        await stage.clock.advance(2)
        assert isinstance(stage.results["p"], AuthFailed)


async def test_without_edits_there_is_one_final_post() -> None:
    async with staged(capabilities=make_capabilities(edits=False)) as stage:
        page = stage.page()
        text = await stage.grow(page, 30)
        assert stage.platform.calls == 0
        stage.finish(page, text)
        await stage.clock.advance(2)
        assert [landing.final for landing in stage.platform.landings] == [True]


async def test_an_edit_of_a_deleted_message_while_growing_loses_nothing() -> None:
    async with staged() as stage:
        page = stage.page()
        await stage.grow(page, 40)
        stage.platform.faults.scripted.append(MessageGone("deleted"))
        stage.finish(page, "all of it")
        await stage.clock.advance(10)
        assert stage.shown[-1] == "all of it"
        assert stage.results == {"p": True}


async def test_equal_text_is_not_sent_again() -> None:
    async with staged() as stage:
        stage.finish(stage.page("a"), "same")
        await stage.clock.advance(2)
        stage.finish(stage.page("a", {0: "1"}), "same")
        await stage.clock.advance(60)
        assert stage.platform.calls == 2


async def test_typing_is_repeated_until_it_stops_and_leaves_tokens_for_text() -> None:
    async with staged() as stage:
        typing = TypingIndicator(
            stage.platform, stage.scheduler, stage.clock, stage.tasks, StatusMessages(MemoryRecords(), "node")
        )
        typing.set(ROOM, HOST, True)
        await stage.clock.advance(9)
        assert stage.platform.signs == 3
        typing.set(ROOM, HOST, False)
        await stage.clock.advance(30)
        assert stage.platform.signs == 3
        assert stage.platform.floods == 0


async def test_a_limit_tighter_than_configured_ends_in_few_floods_and_the_whole_text() -> None:
    async with staged(Budget(0.8, 3), assumed=PRIVATE) as stage:
        page = stage.page()
        text = await stage.grow(page, 1500, each_s=0.2)
        stage.finish(page, text)
        await stage.clock.advance(60)
        assert " ".join(stage.shown).split() == text.split()
        assert 0 < stage.platform.floods <= 6


async def test_a_long_text_is_cut_once_and_not_after_each_of_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []

    def counted(text: str, *arguments: Any, **more: Any) -> list[PageCut]:
        cut.append(text)
        return cut_pages(text, *arguments, **more)

    monkeypatch.setattr("adapters.pages.page.cut_pages", counted)
    words = [f"w{number:05d}" for number in range(600)]
    async with staged(capabilities=make_capabilities(PRIVATE, max_text=100)) as stage:
        stage.finish(stage.page(), " ".join(words))
        await stage.clock.advance(300)
        assert stage.words == words
        assert len(stage.shown) > 40
        assert cut == [" ".join(words)]
