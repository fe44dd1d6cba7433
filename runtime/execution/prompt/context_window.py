"""The length of the past that a model can take: its window, in the provider's tokens."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.llm.client import Usage

REPLY_TOKENS = 4_000
"""The part of the window for the answer; a quarter of a small window."""

_CHARS_PER_TOKEN = 3.0
"""An estimate until the first answer; most texts have more."""

_LEAST, _MOST = 1.0, 8.0


@dataclass(slots=True)
class ContextWindow:
    """Learns from answers. `window_tokens` is 0 until one says how much the model takes."""

    window_tokens: int = 0
    chars_per_token: float = _CHARS_PER_TOKEN

    def answered(self, prompt_chars: int, usage: Usage) -> None:
        """Learn that a prompt of this many characters counted as this many tokens."""
        if usage.window_tokens:
            self.window_tokens = usage.window_tokens
        if usage.input_tokens and prompt_chars and not usage.estimated:
            measured = min(max(prompt_chars / usage.input_tokens, _LEAST), _MOST)
            self.chars_per_token = (self.chars_per_token + measured) / 2

    def past_chars(self, other_chars: int) -> int | None:
        """The possible length of the past beside the rest of a prompt; None while the window is unknown."""
        if not self.window_tokens:
            return None
        kept = min(REPLY_TOKENS, self.window_tokens // 4)
        return max(0, int((self.window_tokens - kept) * self.chars_per_token) - other_chars)
