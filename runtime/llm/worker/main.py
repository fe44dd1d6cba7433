"""The model's process: it asks its provider for the gateway, and ends with it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
from anyio.abc import UNIXSocketStream
from msgspec import convert
from msgspec.structs import replace

from runtime.core.clock import SystemClock
from runtime.llm.client import ModelOptions, ModelProvider
from runtime.llm.worker.relay import Relay

_SET_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG, see prctl(2)."""

_STDIN = 0

_LEAST_KEY_CHARS = 8
"""The length of the shortest key; a shorter text may be part of any word."""


def main() -> None:
    """Serve the socket that is this process's standard input, as the file of the options says.

    The arguments are the file's descriptor, the parent's process id, and descriptors of files with keys by variable.
    """
    options_file, parent = map(int, sys.argv[-3:-1])
    _end_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):  # the gateway drains first; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    models = convert(json.loads(_content(options_file)), list[ModelOptions])
    for name, file in json.loads(sys.argv[-1]).items():
        os.environ[name] = _content(file)
    anyio.run(_serve, [_with_key(options) for options in models])
    os._exit(0)  # not waiting for a thread that still imports


def _content(file: int) -> str:
    """The content of an open file, which is then closed."""
    try:
        return os.pread(file, os.fstat(file).st_size, 0).decode()
    finally:
        os.close(file)


def _with_key(options: ModelOptions) -> ModelOptions:
    key = options.api_key
    if options.api_key_variable is not None:
        key = os.environ.get(options.api_key_variable)
    if options.api_key_file is not None:
        key = Path(options.api_key_file).read_text(encoding="utf-8").strip()
    return replace(options, api_key=key)


def _secrets(models: Sequence[ModelOptions]) -> frozenset[str]:
    """Texts that must not appear in failures: the models' keys, and those of all providers."""
    theirs = (value for name, value in os.environ.items() if name.endswith("_API_KEY"))
    keys = {value for value in theirs if len(value) >= _LEAST_KEY_CHARS}
    return frozenset(keys | {options.api_key for options in models if options.api_key})


def _end_with(parent: int) -> None:
    """Die with the parent, even while an import keeps the loop from noticing the socket's end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


async def _serve(models: Sequence[ModelOptions]) -> None:
    stream = await UNIXSocketStream.from_socket(socket.socket(fileno=os.dup(_STDIN)))
    async with stream:
        providers = [(options.name, provider_of(options)) for options in models]
        await Relay(providers, SystemClock(), _secrets(models)).serve(stream)


def provider_of(options: ModelOptions) -> ModelProvider:
    """Our own readers for voices, for meanings and for servers that speak OpenAI's protocol, litellm for all others."""
    if options.service == "embedding":
        from runtime.llm.worker.services import EmbeddingServer  # noqa: PLC0415 - see below

        return EmbeddingServer(options)
    if options.service is not None:
        from runtime.llm.worker.services import VoiceServer  # noqa: PLC0415 - see below

        return VoiceServer(options)
    if options.speaks_openai:
        from runtime.llm.worker.openai_server import OpenAIServerReader  # noqa: PLC0415 - one of the two is imported

        return OpenAIServerReader(options)
    from runtime.llm.worker.library import LiteLLMProvider  # noqa: PLC0415 - see above

    return LiteLLMProvider(options)
