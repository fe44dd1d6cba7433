"""What a model writes before people see something of it is counted line by line."""

from __future__ import annotations

import pytest

from evals.models import Measured, Meter, Scripted
from evals.talks import Reply
from runtime.llm.client import ChatMessage, CompletionRequest
from tests.fakes.clock import FakeClock


def test_what_was_written_before_the_first_visible_character_counts_for_each_line() -> None:
    meter = Meter(FakeClock())
    meter.line_said()
    meter.wrote(30)
    meter.seen(4)
    meter.wrote(50)
    meter.seen(50)
    meter.line_said()
    meter.seen(12)
    assert meter.cost.unseen_chars == [26, 0]


def test_a_line_after_which_nothing_is_seen_has_no_figure() -> None:
    meter = Meter(FakeClock())
    meter.line_said()
    meter.wrote(30)
    meter.line_said()
    meter.seen(1)
    assert meter.cost.unseen_chars == [0]


@pytest.mark.anyio
async def test_a_measured_model_counts_requests_pieces_and_tokens() -> None:
    meter = Meter(FakeClock())
    request = CompletionRequest((ChatMessage("system", "Be brief."), ChatMessage("user", "Hi")))
    model = Measured(Scripted([Reply(text="Good day!")]), meter)
    async with model.stream(request) as completion:
        pieces = [piece async for piece in completion]
    assert "".join(pieces) == "Good day!"
    assert len(pieces) == 3
    cost = meter.cost
    assert (cost.calls, cost.chars_in, cost.chars_out, cost.uncounted) == (1, len("Be brief.Hi"), len("Good day!"), 1)
