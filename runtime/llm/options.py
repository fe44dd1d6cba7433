"""The model to ask, and the options of a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Service = Literal["transcription", "speech", "embedding"]


@dataclass(frozen=True, slots=True)
class ModelTimeouts:
    """Seconds: to connect, from the request to the first piece, between two pieces, and for the whole answer."""

    connect_s: float = 10.0
    first_piece_s: float = 90.0
    between_pieces_s: float = 45.0
    whole_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens: those in, those in that come from the cache, and those out."""

    usd_in: float
    usd_cached: float
    usd_out: float

    def of(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """The price of an answer in US dollars; cached tokens are among those in."""
        fresh = tokens_in - tokens_cached
        return (fresh * self.usd_in + tokens_cached * self.usd_cached + tokens_out * self.usd_out) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model and the way to ask it.

    `name` is litellm's (`openai/gpt-…`, `anthropic/claude-…`). `base_url` ends before `/chat/completions`; with it a
    missing key is sent as a placeholder. Where only the model's process is to know the key, `api_key_file` has it, or
    `api_key_variable` among that process's own.
    None for `temperature` or `max_output_tokens` leaves the provider's.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeouts: ModelTimeouts = ModelTimeouts()
    max_retries: int = 4
    temperature: float | None = None
    max_output_tokens: int | None = None
    api_key_file: str | None = None
    api_key_variable: str | None = None
    service: Service | None = None
    """What it does instead of writing text; None for a model that writes."""
    speaker: str = ""
    """Whose voice speaks, by the provider's name."""

    @property
    def speaks_openai(self) -> bool:
        """Whether the model is on your own server that speaks OpenAI's protocol, which needs no library."""
        return self.base_url is not None and self.name.startswith("openai/")
