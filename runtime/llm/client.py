"""The port to a language model: one request, text in pieces; and the options of the model that is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from msgspec import Struct

DESCRIBE = "describe"
"""The purpose of a request that has pictures put into words: a model for that alone answers it, where one is set."""

TRANSCRIBE = "transcribe"
"""The purpose of a request that has a recording written down. Its answer is the JSON of a transcript: `text`, and
`language` where that is known."""

SPEAK = "speak"
"""The purpose of a request that has a text spoken. Its answer is Base64 of an Ogg file."""

EMBED = "embed"
"""The purpose of a request for what texts mean: each message is one of them. The answer is a line for each, Base64 of a
vector of signed bytes."""

MAX_ANSWER_CHARS = 200_000
"""The longest answer that is read."""

MAX_SPEECH_CHARS = 6_000_000
"""The longest answer that is a recording."""

Service = Literal["transcription", "speech", "embedding"]


class ModelTimeouts(Struct, frozen=True):
    """Seconds: to connect, from the request to the first piece, between two pieces, and for the whole answer."""

    connect_s: float = 10.0
    first_piece_s: float = 90.0
    between_pieces_s: float = 45.0
    whole_s: float = 600.0


class TokenPrices(Struct, frozen=True):
    """US dollars for a million tokens: those in, those in that come from the cache, and those out."""

    usd_in: float
    usd_cached: float
    usd_out: float

    def of(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """The price of an answer in US dollars; cached tokens are among those in."""
        fresh = tokens_in - tokens_cached
        return (fresh * self.usd_in + tokens_cached * self.usd_cached + tokens_out * self.usd_out) / 1_000_000


class ModelOptions(Struct, frozen=True):
    """A model and the way to ask it.

    `name` is litellm's (`openai/gpt-…`, `anthropic/claude-…`). `base_url` ends before `/chat/completions`; with it a
    missing key is sent as a placeholder. Where only the model's process is to know the key, `api_key_file` has it, or
    `api_key_variable` among that process's own.
    None for `temperature` or `max_output_tokens` leaves the provider's.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = None
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

    def __repr__(self) -> str:
        """Its name alone: a key is never written anywhere."""
        return f"ModelOptions({self.name!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("name", self.name)]

    @property
    def speaks_openai(self) -> bool:
        """Whether the model is on your own server that speaks OpenAI's protocol, which needs no library."""
        return self.base_url is not None and self.name.startswith("openai/")


class PromptPicture(Struct, frozen=True):
    media_type: str
    data: str

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


class ChatMessage(Struct, frozen=True):
    """One message of a prompt: a text, then pictures. `cacheable` marks the end of a prefix that repeats from turn to
    turn."""

    role: Literal["system", "user", "assistant"]
    content: str
    cacheable: bool = False
    pictures: tuple[PromptPicture, ...] = ()


class VoiceRecording(Struct, frozen=True):
    """A recording to write down: Base64 of what its type says. Its name has the ending that belongs to the type."""

    name: str
    media_type: str
    data: str


class CompletionRequest(Struct, frozen=True):
    """A request to a model.

    `purpose` is "execute", "decide" (only choices and values, no words for people), "summarize", "compile", "check",
    "debug", DESCRIBE, TRANSCRIBE, SPEAK or EMBED.
    `model` is the name in the settings that the program or its route asks for; "" leaves it to the purpose.
    """

    messages: tuple[ChatMessage, ...]
    purpose: str = "execute"
    model: str = ""
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    """None means the provider's default."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the whole answer, if the provider can enforce it."""
    recording: VoiceRecording | None = None


class Usage(Struct, frozen=True):
    """Tokens, as the provider counts them, zeros where nobody says, and their price in US dollars, None where nobody
    knows it.

    `window_tokens` is how many the model takes in one request, its answer included. `model` is the name of the one that
    answered, "" where that is not known. `estimated` says that the answer ended before the provider had counted it, and
    that what it had not counted is an estimate by length. `cut` says that the answer has reached the greatest length
    that it may have, and ends in the middle.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    window_tokens: int = 0
    model: str = ""
    estimated: bool = False
    cut: bool = False


class ModelCompletion(Protocol):
    """The answer, in pieces as they arrive. `usage` is complete when the iteration has ended, else an estimate."""

    def __aiter__(self) -> AsyncIterator[str]: ...

    @property
    def usage(self) -> Usage: ...


class ModelProvider(Protocol):
    """A source of a model: one attempt at an answer, without waiting or retries."""

    def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        """The text in pieces as they come, and the newest account of what was used. Closing it stops the request.

        Raises LLMUnavailable, LLMRateLimited, LLMRefused (also for an answer over MAX_ANSWER_CHARS) or ContextTooLong.
        """

    async def warm_up(self) -> None:
        """Prepare now, so that the first request is quick. May be cancelled at any time."""

    async def sees(self) -> bool | None:
        """Whether its model takes pictures, by the provider's data; None when they do not say."""
        return None

    def prices(self) -> TokenPrices | None:
        """The prices by the provider's data, as far as they are known by now."""
        return None

    def is_known(self) -> bool:
        """Whether the model's name says who its provider is, as far as that is known by now."""
        return True


class LLMClient(Protocol):
    """Raises LLMUnavailable, LLMRateLimited, LLMTimeout, LLMRefused or ContextTooLong.

    Retries what may pass (rate limits, 5xx, connection errors) only before the first piece. Leaving the context
    stops the request.
    """

    model: str
    """The model's name, for people and logs."""

    def stream(self, request: CompletionRequest, /) -> AbstractAsyncContextManager[ModelCompletion]: ...

    def name_for(self, purpose: str, model: str, /) -> str:
        """The name in the settings of what answers a request of this purpose that asks for `model`; "" for a client of
        one model."""
        return ""

    def model_for(self, request: CompletionRequest, /) -> str:
        """The model that is asked first; another one may answer."""
        return self.model

    async def sees(self, purpose: str = "execute", model: str = "", /) -> bool | None:
        """Whether what answers such a request takes pictures, by the provider's data; None when they do not say."""
        return None

    async def all_see(self) -> bool | None:
        """Whether all that may answer take pictures; None when their data do not say."""
        return await self.sees()

    async def warm_up(self) -> None:
        """Return when the client is as fast as it will be. May be cancelled at any time."""
        return


class VisionRecord:
    def __init__(self, client: LLMClient | None = None, said: bool | None = None) -> None:
        """`said` is what the settings say of them."""
        self._client = client
        self._said = said
        self._refused: set[str] = set()

    async def sees(self, purpose: str = "execute", model: str = "") -> bool:
        """Whether what answers such a request is to be given pictures."""
        if self._said is not None:
            return self._said
        known = None if self._client is None else await self._client.sees(purpose, model)
        return self._named(purpose, model) not in self._refused if known is None else known

    async def all_see(self) -> bool:
        """Whether whatever answers is to be given pictures: no model of a chain is blind."""
        known = None if self._client is None else await self._client.all_see()
        return await self.sees() if self._said is not None or known is None else known

    def refused(self, purpose: str = "execute", model: str = "") -> None:
        """It has refused a request with pictures: it gets no more, unless its data or the settings say so."""
        self._refused.add(self._named(purpose, model))

    def _named(self, purpose: str, model: str) -> str:
        return "" if self._client is None else self._client.name_for(purpose, model)
