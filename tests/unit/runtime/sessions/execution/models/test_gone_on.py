"""A message whose words were cut off is gone on with: the model is asked for the rest, and people read it once."""

from itertools import pairwise
from typing import cast

import anyio
import pytest

from runtime.core.errors import LLMUnavailable
from runtime.execution.frames.loop import HASTE, RepeatedPauses
from tests.fakes.people.talk import Reply
from tests.unit.runtime.execution.processor.walking import answers, main, walking

BEGUN = "The river rises in the hills behind the old mill, and from there it flows "
REST = "down to the sea, which it reaches after nine days."
WHOLE = BEGUN + REST
CUT = LLMUnavailable("the line is cut")
TELLS = main("- Tell the user about the river", "- End program")
ASKS = main("- Tell the user about the river", "- Tell the user about the sea", "- End program")


def half(text: str = BEGUN + "down to") -> Reply:
    return Reply(text, breaks=CUT)


@pytest.mark.parametrize("rest", [REST.removeprefix("down "), REST, WHOLE, f"flows {REST}"])
async def test_a_reply_that_breaks_off_is_asked_for_the_rest(rest: str) -> None:
    async with walking(TELLS, half(), rest) as walk:
        assert await walk.say("hi") == [WHOLE]
        [shown] = walk.talk.world.chat
        assert f"<begun>{BEGUN}down </begun>" in walk.asked()
        seen = list(shown.texts)
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))


async def test_it_may_break_off_again() -> None:
    assert await answers(TELLS, half(), half("to the sea, which it"), "it reaches after nine days.") == [WHOLE]


class _Looking:
    """Is waited for by a model in the middle of its reply, and sees whether pauses are left out there."""

    def __init__(self) -> None:
        self.seen: list[RepeatedPauses | None] = []

    async def wait(self) -> None:
        self.seen.append(HASTE.get())


@pytest.mark.parametrize("questions_alone", [False, True])
async def test_a_model_that_is_asked_for_the_rest_makes_its_pauses(*, questions_alone: bool) -> None:
    looking = _Looking()
    again = Reply(WHOLE, gate=cast("anyio.Event", looking))
    assert await answers(TELLS, half(), again, questions_alone=questions_alone) == [WHOLE]
    assert looking.seen
    assert all(haste is None for haste in looking.seen)


async def test_words_of_an_earlier_step_are_not_gone_on_with() -> None:
    async with walking(ASKS, WHOLE, half("The sea is"), "The sea is wide.") as walk:
        assert await walk.say("hi") == [WHOLE, "The sea is wide."]
        assert "<begun>" not in walk.asked(0) + walk.asked(1)
        assert "<begun>The sea </begun>" in walk.asked(2)
        assert "the next word begins with `is`" in walk.asked(2)


async def test_what_was_read_stays_when_the_rest_begins_as_the_message_does() -> None:
    lines = [f"Answer line {number} of 40." for number in range(1, 41)]
    whole = "\n".join(lines)
    async with walking(TELLS, half("\n".join(lines[:15])), "\n".join(lines[15:])) as walk:
        assert await walk.say("hi") == [whole]
        [shown] = walk.talk.world.chat
        seen = list(shown.texts)
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))


@pytest.mark.parametrize("rest", ["Rivers are long.", "# The river\n\nIt is long.", f"{BEGUN[:30]}and is long."])
async def test_what_was_read_stays_before_a_reply_that_begins_anew(rest: str) -> None:
    async with walking(TELLS, half(), rest) as walk:
        [said] = await walk.say("hi")
        [shown] = walk.talk.world.chat
        seen = list(shown.texts)
    assert said.startswith(f"{BEGUN}down to")
    assert said.endswith(rest)
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))


async def test_code_and_quotes_of_the_rest_stay_as_they_are() -> None:
    code = "Run this, and nothing else at all:\n\n```python\nx = 1\n"
    assert await answers(TELLS, half(f"{code}y"), 'y = 2\n```\n"So," he said.') == [f'{code}y = 2\n```\n"So," he said.']


async def test_a_small_model_writes_it_anew() -> None:
    async with walking(TELLS, half(), WHOLE, questions_alone=True) as walk:
        assert await walk.say("hi") == [WHOLE]
        assert "<begun>" not in walk.asked()
