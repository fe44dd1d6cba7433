"""The positive of a condition in words: the surely denied one is asked without its denial, any other as it stands."""

import pytest

from runtime.execution.processor.questioner import PositiveTest, positive_test

TURNED = {
    "there is no such order": "there is such an order",
    "There are no such orders": "There are such orders",
    "there is no free table": "there is a free table",
    "there was no answer": "there was an answer",
    "the parcel is not here": "the parcel is here",
    "the parcel isn't here": "the parcel is here",
    "the parcel isn\N{RIGHT SINGLE QUOTATION MARK}t here": "the parcel is here",
    "the card was not accepted.": "the card was accepted.",
    "the customer does not have an account": "the customer does have an account",
    "they can't come": "they can come",
    "we cannot deliver there": "we can deliver there",
    "they won't be at home": "they will be at home",
    "the answer does not contain any number": "the answer does contain some number",
    "the order has no invoice": "the order has some invoice",
    "nobody is on duty": "somebody is on duty",
    "no one is on duty": "someone is on duty",
    "nothing was found": "something was found",
    "not urgent": "urgent",
    "it is not so that the weather is nice": "the weather is nice",
}
"""Conditions, and what is asked in place of each."""

AS_IT_STANDS = [
    "there is such an order",
    "the guest does not want a receipt",
    "they are not happy",
    "not all of them came",
    "they did not all come",
    "the order is not paid or not sent",
    "the order is not sent and it is late",
    "they have not only asked but also paid",
    "there is no more than one order",
    "they do not come unless it is dry",
    "nobody did not answer",
    "nothing but the price is missing",
    "none of them came",
    'the answer is not "no"',
    "the order is no longer open",
    "they have not answered yet",
    "no",
    "not",
    "they said no",
    "the order (not the parcel) is late",
    "the one who is not here called",
    "it is late, not early",
    "they must not pay",
    "she may not know",
    "it shouldn't rain",
]
"""Conditions that deny nothing, or not surely the whole of what remains."""


@pytest.mark.parametrize(("said", "asked"), TURNED.items())
def test_a_denied_condition_is_asked_for_its_opposite(said: str, asked: str) -> None:
    assert positive_test(said) == PositiveTest(asked, turned=True)


@pytest.mark.parametrize("said", AS_IT_STANDS)
def test_what_is_not_surely_an_opposite_is_asked_as_it_stands(said: str) -> None:
    assert positive_test(said) == PositiveTest(said)


@pytest.mark.parametrize(("said", "asked"), TURNED.items())
def test_denied_twice_it_is_asked_as_it_is(said: str, asked: str) -> None:
    twice = positive_test(f"it is not so that {said.removeprefix('it is not so that ')}")
    assert twice == PositiveTest(asked, turned=said.startswith("it is not so that "))
