"""The extensions in use: those that the settings name, and those of installed packages."""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import anyio
from msgspec import Struct

from adapters.asides import HandsOver
from gateway.extensions.extension import API_VERSION, Extension, ExtensionPlatform
from gateway.packaged import GROUP, installed
from gateway.settings.platforms import PlatformSettings
from runtime.channels.extensions import ChannelExtension
from runtime.core.errors import ConfigError
from runtime.execution.calls.extensions import ExtensionCall

EXTENDS_WITHIN_S: Final = 30.0
"""The time limit for a function of an extension. The platform is not heard before."""

_log = logging.getLogger("adapters.extensions")

ATTRIBUTE = "extension"
"""The name of the extension object in a module."""


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
