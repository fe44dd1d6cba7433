"""The declarations of an extension. Authors import them from `parley.ext`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from adapters.adapter import Adapter
from adapters.records import Records
from gateway.built_in_calls import SIGNATURES
from gateway.settings.platforms import PlatformSettings
from runtime.channels.channel import OnCreated
from runtime.channels.extensions import ExtensionGuest, OnMessage, OnStream
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError
from runtime.core.ids import is_human_word
from runtime.core.message import StreamObserver
from runtime.core.texts import Texts
from runtime.execution.calls.extensions import CALL_LIMIT_S, ExtensionCall, call_of

API_VERSION = 1
"""The version of `parley.ext`. It rises with each change that can break an extension written for the previous one."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")

Function = TypeVar("Function", bound=Callable[..., Any])
Observer = TypeVar("Observer", bound=StreamObserver)


class PlatformParts(Struct, frozen=True):
    """The parts from which an adapter is made. `settings` is the platform's own section; `records` opens a durable
    table by its name; `commands` are the commands for the platform's menu with their descriptions; `texts` are Parley's
    own sentences.
    """

    settings: Any
    clock: Clock
    records: Callable[[str], Records]
    commands: Mapping[str, str]
    texts: Texts


class ExtensionPlatform(Struct, frozen=True):
    """A platform of an extension.

    `make` returns None if the settings leave it off, and `switch` names the setting that switches it on, such as
    "PARLEY_MATRIX__TOKEN". `exclusive`: only one node at a time may listen to it.
    """

    name: str
    settings: type[PlatformSettings]
    make: Callable[[PlatformParts], Adapter | None]
    switch: str
    exclusive: bool = True


@dataclass(slots=True)
class Extension:
    """One extension, made at the top of its module: `extension = Extension("words", api=1)`.

    `api` is the `API_VERSION` that it was written for.
    """

    name: str
    api: int
    calls: dict[str, ExtensionCall] = field(default_factory=dict, init=False)
    platforms: dict[str, ExtensionPlatform] = field(default_factory=dict, init=False)
    participants: dict[str, ExtensionGuest] = field(default_factory=dict, init=False)
    observers: list[StreamObserver] = field(default_factory=list, init=False)
    channel_callbacks: list[OnCreated] = field(default_factory=list, init=False)
    stream_callbacks: list[OnStream] = field(default_factory=list, init=False)
    message_callbacks: list[OnMessage] = field(default_factory=list, init=False)
    native_callbacks: dict[str, list[Callable[[Any], object]]] = field(default_factory=dict, init=False)

    def call(
        self,
        name: str,
        *,
        repeatable: bool = False,
        timeout_s: float = CALL_LIMIT_S,
        only_reads: bool = False,
    ) -> Callable[[Function], Function]:
        """Let every program call the decorated function as `name`.

        `repeatable`: calling it twice does no harm, so a call that a restart interrupted is made again. `only_reads`:
        it changes nothing outside, so owners can try it in a scratch room. Raises ConfigError for a name that is taken
        or cannot be written, and for parameters without names.
        """

        def add(function: Function) -> Function:
            if name in SIGNATURES:
                raise ConfigError(f"extension {self.name}: {name} is a built-in call of Parley; choose another name.")
            if not name.isidentifier() or name in self.calls:
                why = "is there twice" if name in self.calls else "is not a name that a program can write"
                raise ConfigError(f"extension {self.name}: the call {name!r} {why}; choose another name.")
            try:
                self.calls[name] = call_of(
                    name, function, repeatable=repeatable, timeout_s=timeout_s, only_reads=only_reads
                )
            except ValueError as error:
                raise ConfigError(f"extension {self.name}: {error}; give each parameter a name.") from error
            return function

        return add

    def participant(self, name: str, *, parallel: int = 1) -> Callable[[Function], Function]:
        """Let agents speak to `name`: the decorated function, plain or async, is called with each message for it.

        At most `parallel` messages are delivered at the same time; with 1 they come in order. Raises ConfigError for a
        name that is there twice or that means somebody else.
        """

        def add(function: Function) -> Function:
            if name in self.participants or not name.isidentifier() or is_human_word(name) or name == "meeting":
                why = "is there twice" if name in self.participants else "is not a name for a participant"
                raise ConfigError(f"extension {self.name}: {name!r} {why}; choose another name.")
            self.participants[name] = ExtensionGuest(function, parallel)
            return function

        return add

    def observe(self, observer: Observer) -> Observer:
        """Show every stream of every channel to `observer`: start, pieces and end, in order."""
        self.observers.append(observer)
        return observer

    def on_channel(self, function: Function) -> Function:
        """Call the function with each new channel, before an agent speaks in it. An async function is awaited."""
        self.channel_callbacks.append(function)
        return function

    def on_stream(self, function: Function) -> Function:
        """Call the function with the start of each stream. An async function is awaited and delays nobody."""
        self.stream_callbacks.append(function)
        return function

    def on_message(self, function: Function) -> Function:
        """Call the function with each message in a channel. An async function is awaited and delays nobody."""
        self.message_callbacks.append(function)
        return function

    def slack(self, function: Function) -> Function:
        """Call the function with the `AsyncApp` of slack-bolt, once Slack is connected. It may be async."""
        return self._native("slack", function)

    def telegram(self, function: Function) -> Function:
        """Call the function with the `Bot` of python-telegram-bot, once Telegram is connected. It may be async."""
        return self._native("telegram", function)

    def discord(self, function: Function) -> Function:
        """Call the function with each new `Client` of discord.py, before it connects. It may be async."""
        return self._native("discord", function)

    def _native(self, platform: str, function: Function) -> Function:
        self.native_callbacks.setdefault(platform, []).append(function)
        return function

    def platform(
        self,
        name: str,
        *,
        settings: type[PlatformSettings],
        make: Callable[[PlatformParts], Adapter | None],
        switch: str,
        exclusive: bool = True,
    ) -> None:
        """Add a platform with its section of the settings. Raises ConfigError for a name that cannot be one."""
        if not _NAME.fullmatch(name) or name in self.platforms:
            why = "is there twice" if name in self.platforms else "is not of small letters, digits and _"
            raise ConfigError(f"extension {self.name}: the platform {name!r} {why}; choose another name.")
        settings.model_rebuild(raise_errors=False)  # so that what is wrong with it is found here
        self.platforms[name] = ExtensionPlatform(name, settings, make, switch, exclusive)
