"""Which words decline an invitation, and which take part."""

import pytest

from runtime.agents.invitations import refuses
from runtime.core.texts import english


@pytest.mark.parametrize(
    "text",
    [
        "No",
        "no.",
        "nope, later",
        "No thanks",
        "no thanks!",
        "not now",
        "Not now please",
        "not now, I am in a call",
        "Later",
        "“No, thank you.”",
        "Sorry, I can\u2019t come today",
        "sorry but I'm busy right now",
        "I can't make it because I am ill",
        "No - next week, perhaps",
        "@Host no thanks",
        "Thanks, but I'd rather not.",
        "I'm afraid I can't",
        "No\nI have to go",
        "NOT TODAY",
        "start without me",
        "no no no",
    ],
)
def test_a_plain_refusal_is_one(text: str) -> None:
    assert refuses(text, english())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "No?",
        "No problem, I am in",
        "no idea which colour",
        "not now but the next one is blue?",
        "Now is good",
        "nobody likes blue",
        "Later we should paint it",
        "busybodies, all of you",
        "I can't wait",
        "I can't see the picture",
        "Thanks for asking, yes",
        "yes",
        "Sure, no objections",
        "blue, no, green",
        "Hello everybody",
        "I won't say no to blue",
        "sorry I am late",
        "well, " * 5000,
        "no " * 5000 + "x",
    ],
)
def test_everything_else_takes_part(text: str) -> None:
    assert not refuses(text, english())
