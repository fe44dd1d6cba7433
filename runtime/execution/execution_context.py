"""The context in which natural language is executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct, field

from runtime.core.message import Message, MessageType
from runtime.execution.calls.builtins import BuiltinCalls
from runtime.execution.calls.remote import ExtensionCall, RemoteServers, ToolRules
from runtime.execution.prompt.with_files import FileContents
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.llm.client import LLMClient, Usage
from runtime.sandbox.executor import Sandbox
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import AgentState

REPLY_TOKENS = 4_000
"""The part of the window for the answer; a quarter of a small window."""

_CHARS_PER_TOKEN = 3.0
"""An estimate until the first answer; most texts have more."""

_LEAST, _MOST = 1.0, 8.0

TRANSCRIPT_CHARS = 100_000
"""A past of more characters is summed up: about 25,000 tokens, which every model of today takes beside its program."""

MayAsk = Callable[[str | None], Awaitable[str | None]]
"""Asked before every call of the model, with the person who caused it: the sentence why not, or None."""

Told = Callable[[FrameState, str, str], Awaitable[str | None]]
"""What else a model is told, for a frame that has heard something and is asked something; None where nothing ever is.
"""


class ContextWindow(Struct):
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


class ExecutionContext(SessionContext, frozen=True):
    """The parts that execute a session.

    `steers`: what people say to an agent at work is shown to the work. A past of more than `transcript_chars` is summed
    up.
    """

    builtins: BuiltinCalls
    pages: SessionPages
    sandbox: Sandbox
    llm: LLMClient
    may_ask: MayAsk
    steers: bool = False
    servers: RemoteServers = field(default_factory=RemoteServers)
    tool_rules: ToolRules = field(default_factory=ToolRules)
    transcript_chars: int = TRANSCRIPT_CHARS
    window: ContextWindow = field(default_factory=ContextWindow)
    alone: bool = False
    """Each question is asked alone: for small models, which do one thing better than several."""
    contents: FileContents | None = None
    """Files that people sent; None where they are only named."""
    model: str = ""
    """The name of the model that answers where the program names none; "" leaves it to the purpose."""
    calls: Mapping[str, ExtensionCall] = field(default_factory=dict)
    """What extensions let programs call, by name."""
    told: Told | None = None
    """What a model is told beside; None where nothing ever is."""

    def steering(self, agent: AgentState, *, words: bool = True) -> list[Message]:
        """What an agent at work is to see before it goes on: `words` of its tasks and of who has ordered this one, and
        what people say, where that is for the work to see."""
        return [
            message
            for message in agent.queue
            if (words and message.hops is not None)
            or (self.steers and message.from_human and message.type != MessageType.CHOICE)
        ]
