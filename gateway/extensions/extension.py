"""The declarations of an extension, which authors import from `parley.ext`; and the extensions in use: those that the
settings name, and those of installed packages.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from msgspec import Struct

from adapters.adapter import Adapter, HandsOver
from adapters.records import Records
from gateway.built_in_calls import SIGNATURES
from gateway.packaged import GROUP, installed
from gateway.settings.platforms import PlatformSettings
from runtime.channels.channel import OnCreated
from runtime.channels.extensions import ChannelExtension, ExtensionGuest, OnMessage, OnStream
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError
from runtime.core.ids import is_human_word
from runtime.core.message import StreamObserver
from runtime.core.texts import Texts
from runtime.execution.calls.remote import CALL_LIMIT_S, ExtensionCall, call_of

API_VERSION = 1
"""The version of `parley.ext`. It rises with each change that can break an extension written for the previous one."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")

Function = TypeVar("Function", bound=Callable[..., Any])
Observer = TypeVar("Observer", bound=StreamObserver)
EXTENDS_WITHIN_S: Final = 30.0
"""The time limit for a function of an extension. The platform is not heard before."""

_log = logging.getLogger("adapters.extensions")

ATTRIBUTE = "extension"
"""The name of the extension object in a module."""


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


def handing_over(platform: str, extensions: Sequence[Extension]) -> HandsOver:
    """What gives a platform's object to the extensions, one after the other. One that fails is passed over."""

    async def hand_over(native: Any) -> None:
        for one in extensions:
            for function in one.native_callbacks.get(platform, ()):
                try:
                    with anyio.fail_after(EXTENDS_WITHIN_S):
                        made = function(native)
                        if inspect.isawaitable(made):
                            await made
                except Exception as error:  # noqa: BLE001 - an extension may raise anything, and the platform goes on
                    about = {"extension": one.name, "platform": platform, "error": repr(error)}
                    _log.error("An extension could not be added to a platform", extra=about, exc_info=error)

    return hand_over


def waiting_for(platform: str, extensions: Sequence[Extension]) -> list[str]:
    return [one.name for one in extensions if platform in one.native_callbacks]


class LoadedExtensions(Struct, frozen=True):
    """All extensions in use, in loading order. No name occurs twice."""

    loaded: tuple[Extension, ...] = ()

    @property
    def calls(self) -> Mapping[str, ExtensionCall]:
        return {name: call for one in self.loaded for name, call in one.calls.items()}

    @property
    def platforms(self) -> Mapping[str, ExtensionPlatform]:
        return {name: platform for one in self.loaded for name, platform in one.platforms.items()}

    @property
    def channels(self) -> Sequence[ChannelExtension]:
        return [
            ChannelExtension(
                one.name,
                one.observers,
                one.channel_callbacks,
                one.stream_callbacks,
                one.message_callbacks,
                one.participants,
            )
            for one in self.loaded
        ]


@lru_cache
def load_extensions(modules: tuple[str, ...]) -> LoadedExtensions:
    """Import the extensions, each once. Raises ConfigError that says which one, where it is from and what to do."""
    found: list[Extension] = []
    for extension, place in (*_named(modules), *_installed()):
        if extension not in found:
            _check(extension, place, found)
            found.append(extension)
    return LoadedExtensions(tuple(found))


def sections(modules: tuple[str, ...]) -> Mapping[str, type[PlatformSettings]]:
    """The sections of the settings that extensions add. Raises ConfigError as `load_extensions`."""
    return {name: platform.settings for name, platform in load_extensions(modules).platforms.items()}


def _named(modules: Sequence[str]) -> Iterator[tuple[Extension, str]]:
    here = str(Path.cwd())
    if modules and here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    for name in modules:
        place = f'extensions.modules: "{name}"'
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and name.split(".")[0] == error.name.split(".")[0]:
                raise ConfigError(
                    f"{place} is not installed, and there is no such module in {here}. Install its package, or correct "
                    "the name."
                ) from error
            raise _failed(place, error) from error
        except Exception as error:
            raise _failed(place, error) from error
        yield _extension_of(module, place), place


def _installed() -> Iterator[tuple[Extension, str]]:
    for point in installed():
        place = f'the package {_package(point)} (entry point "{point.name}" of {GROUP})'
        try:
            found = point.load()
        except Exception as error:
            raise _failed(place, error) from error
        yield found if isinstance(found, Extension) else _extension_of(found, place), place


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _extension_of(module: Any, place: str) -> Extension:
    found = getattr(module, ATTRIBUTE, None)
    if isinstance(found, Extension):
        return found
    what = "no such name" if found is None else f"a {type(found).__name__} of that name"
    raise ConfigError(
        f'{place} has {what} as `{ATTRIBUTE}`. Write `{ATTRIBUTE} = Extension("name", api={API_VERSION})` at its top; '
        "see docs/connecting/extending.md."
    )


def _failed(place: str, error: Exception) -> ConfigError:
    if isinstance(error, ConfigError):
        return ConfigError(f"{place}: {error}")
    return ConfigError(
        f"{place} fails when it is imported: {type(error).__name__}: {error} ({_line_of(error)}). Correct it, or take "
        "it out of the settings or uninstall its package."
    )


def _line_of(error: Exception) -> str:
    """The place where the error was raised: the innermost line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "no line" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _check(extension: Extension, place: str, before: Sequence[Extension]) -> None:
    """Raise ConfigError for an extension that cannot be used beside those `before` it."""
    if extension.api != API_VERSION:
        newer = "Parley" if extension.api > API_VERSION else "the extension"
        raise ConfigError(
            f"{place}: the extension {extension.name} was written for version {extension.api} of parley.ext, and this "
            f"Parley has version {API_VERSION}. Install a newer version of {newer}."
        )
    for other in before:
        if other.name == extension.name:
            raise ConfigError(f"{place}: there are two extensions named {extension.name}; take one of them out.")
        for what, theirs, ours in (
            ("call", other.calls, extension.calls),
            ("platform", other.platforms, extension.platforms),
            ("participant", other.participants, extension.participants),
        ):
            if both := sorted(theirs.keys() & ours.keys()):
                raise ConfigError(
                    f"{place}: the {what} {both[0]} of {extension.name} is one of {other.name} too; take one of the "
                    "two extensions out."
                )
