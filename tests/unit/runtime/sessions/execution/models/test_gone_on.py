"""A message whose words were cut off is gone on with: the model is asked for the rest, and people read it once."""

from __future__ import annotations

from itertools import pairwise

import pytest

from runtime.core.errors import LLMUnavailable
from runtime.sandbox.monty import MontySandbox
from tests.fakes.people.talk import Reply
from tests.unit.runtime.execution.processor.walking import main, walking

pytestmark = pytest.mark.anyio

BEGUN = "The river rises in the hills behind the old mill, and from there it flows "
REST = "down to the sea, which it reaches after nine days."
WHOLE = BEGUN + REST
CUT = LLMUnavailable("the line is cut")
TELLS = main("- Tell the user about the river", "- End program")
ASKS = main("- Tell the user about the river", "- Tell the user about the sea", "- End program")


def half(text: str = BEGUN + "down to") -> Reply:
    return Reply(text, breaks=CUT)


@pytest.mark.parametrize("rest", [REST.removeprefix("down "), REST, WHOLE, f"flows {REST}"])
async def test_a_reply_that_breaks_off_is_asked_for_the_rest(rest: str, sandbox: MontySandbox) -> None:
    async with walking(TELLS, half(), rest, sandbox=sandbox) as walk:
        assert await walk.say("hi") == [WHOLE]
        [shown] = walk.talk.world.chat
        assert f"<begun>{BEGUN}down </begun>" in walk.asked()
        seen = list(shown.texts)
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))


async def test_it_may_break_off_again(sandbox: MontySandbox) -> None:
    async with walking(
        TELLS, half(), half("to the sea, which it"), "it reaches after nine days.", sandbox=sandbox
    ) as walk:
        assert await walk.say("hi") == [WHOLE]


async def test_words_of_an_earlier_step_are_not_gone_on_with(sandbox: MontySandbox) -> None:
    async with walking(ASKS, WHOLE, half("The sea is"), "The sea is wide.", sandbox=sandbox) as walk:
        assert await walk.say("hi") == [WHOLE, "The sea is wide."]
        assert "<begun>" not in "".join(walk.asked(index) for index in range(3))


async def test_a_small_model_writes_it_anew(sandbox: MontySandbox) -> None:
    async with walking(TELLS, half(), WHOLE, sandbox=sandbox, questions_alone=True) as walk:
        assert await walk.say("hi") == [WHOLE]
        assert "<begun>" not in walk.asked()
