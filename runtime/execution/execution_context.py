"""The context in which natural language is executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.execution.calls.builtins import Builtins
from runtime.execution.calls.remote import NoRemoteServers, RemoteServers
from runtime.execution.frames.step_watcher import StepWatcher
from runtime.execution.host import Host
from runtime.execution.prompt.context_window import ContextWindow
from runtime.execution.speech.pages import Pages
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.sandbox.executor import Sandbox
from runtime.tape.journal import Journal

TRANSCRIPT_CHARS = 100_000
"""A past of more characters is summed up: about 25,000 tokens, which every model of today takes beside its program."""

MayAsk = Callable[[str | None], Awaitable[str | None]]
"""Asked before every call of the model, with the person who caused it: the sentence why not, or None."""


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """What executing a session needs.

    `steers`: what people say to an agent at work is shown to the work. A past of more than `transcript_chars` is summed
    up.
    """

    program: Program
    journal: Journal
    host: Host
    builtins: Builtins
    pages: Pages
    sandbox: Sandbox
    llm: LLMClient
    clock: Clock
    bus: Bus
    may_ask: MayAsk
    steers: bool = False
    servers: RemoteServers = field(default_factory=NoRemoteServers)
    transcript_chars: int = TRANSCRIPT_CHARS
    window: ContextWindow = field(default_factory=ContextWindow)
    watcher: StepWatcher | None = None
    alone: bool = False
    """Each question is asked alone: for small models, which do one thing better than several."""
