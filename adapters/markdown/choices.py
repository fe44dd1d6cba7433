"""Choices as a numbered list in the text, for platforms without a place for them; people answer by number or label."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.capabilities import Capabilities
from runtime.core.message import Choice


def shown(choices: Sequence[Choice], capabilities: Capabilities) -> tuple[Choice, ...]:
    """The choices that the platform shows at all: without free answers where it has no form for them."""
    return tuple(choice for choice in choices if capabilities.free_answers or not choice.free)


def fit(choices: Sequence[Choice], capabilities: Capabilities) -> bool:
    """Whether the platform can show all of these under a message, each in full."""
    few = len(choices) <= capabilities.max_choices
    return few and all(len(choice.label) <= capabilities.max_choice_label for choice in choices)


def listed(text: str, choices: Sequence[Choice]) -> str:
    """The text with the choices below it."""
    lines = [f"{number}. {' '.join(choice.label.split())}" for number, choice in enumerate(choices, 1)]
    return "\n\n".join(piece for piece in (text.rstrip(), "\n".join(lines)) if piece)
