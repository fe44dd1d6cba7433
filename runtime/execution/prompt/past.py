"""What was heard and said before, as messages to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.core.foreign_text import foreign_lines
from runtime.core.prompt_forms import Form
from runtime.llm.client import ChatMessage


def exchanged(past: Mapping[str, str]) -> Iterator[ChatMessage]:
    """An earlier exchange: what was heard, and what was said then."""
    yield ChatMessage("user", past["heard"] or Form.BEGINS)
    if past["said"]:
        yield ChatMessage("assistant", foreign_lines(past["said"]))
