"""CommonMark as Telegram's entities, groups that moved, and where a lost message may stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.capabilities import measure_utf16
from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import MessageId
from adapters.telegram.codec.markup import Entity, RenderedText, render, with_heading
from adapters.telegram.limits import MAX_ENTITIES
from adapters.telegram.outbound.message_ids import SEARCHED_S, TRIES, MessageIds, Spot
from runtime.core.clock import SystemClock
from runtime.core.errors import NotDelivered, OutcomeUncertain, ShownDiffers
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords


def _pieces(rendered: RenderedText) -> list[tuple[str, str]]:
    units = rendered.text.encode("utf-16-le")
    return [(e.kind, units[e.offset * 2 : (e.offset + e.length) * 2].decode("utf-16-le")) for e in rendered.entities]


@pytest.mark.parametrize(
    ("markdown", "text", "pieces"),
    [
        ("plain", "plain", []),
        ("a **b** c", "a b c", [("bold", "b")]),
        ("*a* ~~b~~ `c`", "a b c", [("italic", "a"), ("strikethrough", "b"), ("code", "c")]),
        ("**a *b***", "a b", [("bold", "a b"), ("italic", "b")]),
        ("# Head\n\ntext", "Head\n\ntext", [("bold", "Head")]),
        ("# A **b**", "A b", [("bold", "A b")]),
        ("> one\n> two\n\nthree", "one\ntwo\n\nthree", [("blockquote", "one\ntwo")]),
        ("> > deep", "deep", [("blockquote", "deep")]),
        ("- a\n- b\n  - c\n\nd", "• a\n• b\n  • c\n\nd", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("<ftp://a.b> [](ftp://a.b) [](https://a.b)", "ftp://a.b ftp://a.b https://a.b", []),
        ("- a\n\n- b", "• a\n\n• b", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("a\nb  \nc", "a\nb\nc", []),
        ("growing\n--", "growing\n--", []),
        ("half **open", "half **open", []),
        ("2 * 3 * 4 < 5 & <x>x</x>", "2 * 3 * 4 < 5 & <x>x</x>", []),
        ("<b>x</b><br>y &amp; <code>a*b*</code>", "x\ny & a*b*", [("bold", "x"), ("code", "a*b*")]),
        ("1. **开源：**代码", "1. 开源：代码", [("bold", "开源：")]),
        ("**注意：**请。**「強調」**です", "注意：请。「強調」です", [("bold", "注意："), ("bold", "「強調」")]),
        ("2*3*4, $x*y$ and $u*v$, \\(a\\)", "2*3*4, $x*y$ and $u*v$, \\(a\\)", []),
        ("https://www.youtube.com/@handle/videos", "https://www.youtube.com/@handle/videos", []),
        ("https://e.org/_x_/y", "https://e.org/_x_/y", []),
        ("https://e.org/a，然后", "https://e.org/a，然后", [("text_link", "https://e.org/a")]),
        ("install @types/node", "install @types/node", [("code", "@types/node")]),
        ("<https://e.org/@ann|@ann>", "@\u2060ann", [("text_link", "@\u2060ann")]),
        ("[docs][1]\n\n[1]: https://e.org", "docs", [("text_link", "docs")]),
        ("👍 **fat** 👍", "👍 fat 👍", [("bold", "fat")]),
        ("[x]: http://a.example", "[x]: http://a.example", []),
    ],
)
def test_markdown_becomes_text_and_entities(markdown: str, text: str, pieces: list[tuple[str, str]]) -> None:
    rendered = render(markdown)
    assert rendered.text == text
    assert _pieces(rendered) == pieces


def test_offsets_count_utf16_units() -> None:
    assert render("👍👍 **b**").entities == (Entity("bold", 5, 1),)


def test_code_block_keeps_its_language_and_blank_lines() -> None:
    rendered = render("see\n\n```python\na = 1\n\nb = 2\n```\nend")
    assert rendered.text == "see\n\na = 1\n\nb = 2\n\nend"
    assert rendered.entities == (Entity("pre", 5, 12, language="python"),)


def test_table_becomes_columns_of_fixed_width() -> None:
    rendered = render("| a | long |\n|---|---|\n| xyz | **b** |")
    assert rendered.text == "a   | long\n----+-----\nxyz | b"
    assert _pieces(rendered) == [("pre", rendered.text)]


def test_web_link_becomes_a_text_link() -> None:
    assert render("[here](https://a.example/x)").entities == (Entity("text_link", 0, 4, url="https://a.example/x"),)


def test_link_that_telegram_refuses_shows_its_target() -> None:
    assert render("[here](notes/a.md)") == RenderedText("here (notes/a.md)")


def test_image_becomes_a_link_with_its_description() -> None:
    rendered = render("![a cat](https://a.example/cat.png)")
    assert (rendered.text, rendered.entities[0].kind) == ("a cat", "text_link")


def test_a_link_is_never_left_out_for_want_of_entities() -> None:
    source = " ".join(f"[b{number}](https://e.org/{number})" for number in range(MAX_ENTITIES))
    assert render(source) == RenderedText(source)
    fewer = source.rpartition(" ")[0]
    assert len(with_heading("Host", render(fewer)).entities) == MAX_ENTITIES


def test_heading_stands_bold_above_and_moves_the_rest() -> None:
    shown = with_heading("Höst 👍", render("a **b**"))
    assert shown.text == "Höst 👍\na b"
    assert _pieces(shown) == [("bold", "Höst 👍"), ("bold", "b")]


def test_lone_surrogate_does_not_stop_a_message() -> None:
    assert render("a \ud83d **b**").entities == (Entity("bold", 4, 1),)


@given(st.text(alphabet=st.sampled_from("ab *_`~[]()#>-|\n1.👍!\\<&:/"), max_size=80))
def test_entities_always_lie_within_the_text(markdown: str) -> None:
    rendered = render(markdown)
    end = measure_utf16(rendered.text)
    assert all(e.offset >= 0 and e.length > 0 and e.offset + e.length <= end for e in rendered.entities)
    assert bool(rendered.text.strip()) or not markdown.strip()


ADA, EVE = Spot(42, None, None), Spot(43, None, None)
FORUM, TOPIC = Spot(-(10**12) - 1, 8, None), Spot(-(10**12) - 1, 9, None)
PLAIN = Spot(-500, None, None)


async def lose(numbers: MessageIds, spot: Spot = ADA, nonce: str = "n") -> None:
    with pytest.raises(OutcomeUncertain):
        async with numbers.posting(spot, nonce):
            raise OutcomeUncertain("502")


async def post(numbers: MessageIds, number: int, spot: Spot = ADA, nonce: str = "before") -> None:
    async with numbers.posting(spot, nonce):
        numbers.posted(spot, number, nonce)


async def _post_while_another_comes(numbers: MessageIds) -> None:
    async with numbers.posting(ADA, "n"):
        numbers.granted(0.5)
        numbers.granted(1.0)
        raise OutcomeUncertain("502")


@pytest.fixture
def numbers(clock: FakeClock) -> MessageIds:
    return MessageIds(clock)


async def test_it_is_looked_for_at_the_first_numbers_that_nobody_has(numbers: MessageIds) -> None:
    await post(numbers, 10)
    numbers.heard(42, 11, None)
    await lose(numbers)
    numbers.heard(42, 13, None)
    await post(numbers, 14, EVE)
    tried = []
    while (number := numbers.where(ADA, "n")) is not None:
        tried.append(number)
        numbers.missed(ADA, number, "n")
    assert tried == [12, 15, 16]
    assert len(tried) == TRIES


async def test_a_repetition_after_all_numbers_between_were_accounted_for_left_no_copy(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    numbers.heard(42, 12, None)
    await post(numbers, 13, nonce="n")
    assert not numbers.left_copy(ADA, "n")


async def test_a_repetition_above_an_unknown_number_may_have_left_a_copy(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    await post(numbers, 13, nonce="n")
    assert numbers.left_copy(ADA, "n")
    assert not numbers.left_copy(ADA, "n")


async def test_a_found_message_is_no_copy_and_is_known_from_then_on(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.found(ADA, 11, "n")
    assert not numbers.left_copy(ADA, "n")
    await lose(numbers, nonce="m")
    assert numbers.where(ADA, "m") == 12


async def test_a_repetition_that_is_lost_too_may_stand_where_the_first_did_not(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    await lose(numbers)
    assert numbers.where(ADA, "n") == 11


async def test_the_first_message_of_a_process_is_not_looked_for(numbers: MessageIds) -> None:
    numbers.heard(42, 10, None)
    await lose(numbers)
    assert numbers.where(ADA, "n") is None
    await post(numbers, 12, nonce="n")
    assert numbers.left_copy(ADA, "n")


async def test_a_message_in_another_private_chat_counts_for_its_bot_only(numbers: MessageIds) -> None:
    await post(numbers, 10, EVE)
    await lose(numbers)
    await lose(numbers, Spot(42, None, 77))
    assert (numbers.where(ADA, "n"), numbers.where(Spot(42, None, 77), "n")) == (11, None)


async def test_nothing_is_looked_for_while_other_nodes_may_post_nor_what_was_lost_then(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.granted(0.5)
    assert numbers.where(ADA, "n") is None
    await lose(numbers, nonce="m")
    numbers.granted(1.0)
    await lose(numbers, nonce="o")
    await post(numbers, 20, nonce="p")
    await lose(numbers, nonce="q")
    assert [numbers.where(ADA, nonce) for nonce in "nmoq"] == [None, None, None, 21]


async def test_a_node_that_came_while_a_post_was_under_way_leaves_it_unsearched(numbers: MessageIds) -> None:
    await post(numbers, 10)
    with pytest.raises(OutcomeUncertain):
        await _post_while_another_comes(numbers)
    await post(numbers, 12)
    assert numbers.where(ADA, "n") is None


async def test_in_ordinary_groups_nothing_is_looked_for(numbers: MessageIds) -> None:
    await post(numbers, 10, PLAIN)
    await lose(numbers, PLAIN)
    assert numbers.where(PLAIN, "n") is None
    await post(numbers, 12, PLAIN, nonce="n")
    assert numbers.left_copy(PLAIN, "n")


async def test_posts_lost_in_two_topics_are_not_looked_for(numbers: MessageIds, clock: FakeClock) -> None:
    await post(numbers, 10, FORUM)
    await lose(numbers, FORUM)
    assert numbers.where(FORUM, "n") == 11
    await lose(numbers, TOPIC, nonce="m")
    assert (numbers.where(FORUM, "n"), numbers.where(TOPIC, "m")) == (None, None)


async def test_it_is_not_looked_for_after_a_while(numbers: MessageIds, clock: FakeClock) -> None:
    await post(numbers, 10)
    await lose(numbers)
    await clock.advance(SEARCHED_S + 1)
    assert numbers.where(ADA, "n") is None


@pytest.mark.parametrize("error", [ShownDiffers("it shows another text"), KeyboardInterrupt()])
async def test_a_post_that_may_stand_unknown_stops_the_search_until_the_next(
    numbers: MessageIds, error: BaseException
) -> None:
    await post(numbers, 10)
    with pytest.raises(type(error)):
        async with numbers.posting(ADA, "n"):
            raise error
    await lose(numbers, nonce="m")
    assert numbers.where(ADA, "m") is None
    await post(numbers, 15)
    await lose(numbers, nonce="o")
    assert numbers.where(ADA, "o") == 16


async def test_a_clear_refusal_leaves_nothing_to_look_for(numbers: MessageIds) -> None:
    await post(numbers, 10)
    with pytest.raises(NotDelivered):
        async with numbers.posting(ADA, "n"):
            raise NotDelivered("blocked")
    assert numbers.where(ADA, "n") is None
    assert not numbers.left_copy(ADA, "n")


OLD, NEW = -500, -1001000000001


async def test_next_run_knows_where_a_group_is_before_it_hears_of_it() -> None:
    records = MemoryRecords()
    await ChatState(records, SystemClock()).note_moved(OLD, NEW)
    later = ChatState(records, SystemClock())
    await later.load()
    assert (later.current(OLD), later.home(NEW)) == (NEW, OLD)


async def test_node_that_runs_already_asks_when_it_hears_of_the_new_group() -> None:
    records = MemoryRecords()
    other = ChatState(records, SystemClock())
    await other.load()
    await ChatState(records, SystemClock()).note_moved(OLD, NEW)
    await other.look_up(NEW, None)
    assert other.home(NEW) == OLD


def test_in_a_basic_group_a_bot_knows_only_the_numbers_it_was_told() -> None:
    guide = OurBot(None, 777, "Guide")  # type: ignore[arg-type]
    assert guide.knows(NEW, MessageId(5))
    assert guide.knows(OLD, MessageId(5, 777))
    assert not guide.knows(OLD, MessageId(5))
