"""The oracle complains about what people would complain about, and about nothing else."""

from tests.chaos.oracle import judge, taken_back
from tests.chaos.places import Shown

EXPECTED = ["The house is open.", "1. I heard one.", "2. I heard two."]


def shown(*texts: str) -> list[Shown]:
    return [Shown(text) for text in texts]


def test_what_was_to_be_said_is_fine() -> None:
    verdict = judge(shown(*EXPECTED), EXPECTED, ())
    assert verdict.settled
    assert (verdict.orphans, verdict.strange) == (0, ())


def test_markdown_and_the_name_above_a_text_do_not_count() -> None:
    verdict = judge(
        shown("House\nThe *house* is open.", "Porter\n1. I heard one.", "2. I heard two."),
        EXPECTED,
        ["House", "Porter"],
    )
    assert verdict.settled
    assert verdict.strange == ()


def test_a_sentence_that_is_missing_is_named() -> None:
    verdict = judge(shown(*EXPECTED[:2]), EXPECTED, ())
    assert verdict.missing == ("2. I heard two.",)
    assert not verdict.settled


def test_a_sentence_that_was_left_out_in_the_middle_is_named() -> None:
    verdict = judge(shown(EXPECTED[0], EXPECTED[2]), EXPECTED, ())
    assert verdict.missing == ("1. I heard one.", "2. I heard two.")
    assert verdict.strange == ("2. I heard two.",)


def test_a_doubled_sentence_is_an_orphan() -> None:
    verdict = judge(shown(EXPECTED[0], EXPECTED[1], EXPECTED[1], EXPECTED[2]), EXPECTED, ())
    assert verdict.settled
    assert verdict.orphans == 1


def test_the_beginning_of_a_sentence_beside_it_is_an_orphan() -> None:
    verdict = judge(shown(EXPECTED[0], "1. I he", *EXPECTED[1:]), EXPECTED, ())
    assert verdict.settled
    assert verdict.orphans == 1


def test_half_a_sentence_alone_is_missing() -> None:
    assert judge(shown(EXPECTED[0], "1. I he"), EXPECTED, ()).missing == ("1. I heard one.", "2. I heard two.")


def test_sentences_in_the_wrong_order_do_not_settle() -> None:
    assert not judge(shown(EXPECTED[0], EXPECTED[2], EXPECTED[1]), EXPECTED, ()).settled


def test_a_wrong_number_is_strange() -> None:
    assert judge(shown(EXPECTED[0], "2. I heard one."), EXPECTED, ()).strange == ("2. I heard one.",)


def test_what_still_grows_or_can_be_pressed_is_not_settled() -> None:
    growing = Shown(EXPECTED[2], growing=True)
    pressable = Shown(EXPECTED[2], choices=("Yes", "No"))
    assert not judge([*shown(*EXPECTED[:2]), growing], EXPECTED, ()).settled
    assert not judge([*shown(*EXPECTED[:2]), pressable], EXPECTED, ()).settled


def test_what_was_chosen_may_stand_below_a_question_once() -> None:
    asked = ["Which order?", "It is shipped."]
    assert judge(shown("Which order?\n\n✓ 4711, by Ada", asked[1]), asked, ()).settled
    assert judge(shown("Which order?\n\n✓\u00a04711", asked[1]), asked, ()).settled
    assert judge(shown("Which order?\n\n✓ 4711\n\n✓ 4711", asked[1]), asked, ()).strange


def test_the_same_sentence_may_be_expected_several_times() -> None:
    asked = ["Which order?", "It is shipped.", "Which order?"]
    assert judge(shown(*asked), asked, ()).settled
    assert judge(shown(*asked, asked[2]), asked, ()).orphans == 1


def test_what_people_have_read_must_not_shrink_to_its_beginning() -> None:
    grown = shown("House\nThe house is open and", "1. I heard")
    assert taken_back(grown, shown("House\nThe house", "1. I heard one.")) == ["House\nThe house is open and"]


def test_text_that_grows_moves_down_or_becomes_another_is_not_taken_back() -> None:
    grown = shown("The house is open and")
    for now in (["The house is **open** and warm"], ["1. Hello", "The house is open and"], ["Sorry."], []):
        assert taken_back(grown, shown(*now)) == []
