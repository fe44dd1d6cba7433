"""The checks of `parley check`: whether each part of the settings works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio
from msgspec import Struct

from adapters.adapter import HoldsConnections
from gateway.assembly.parts import ask_keys, open_archive, open_sandbox
from gateway.capabilities import FEATURES
from gateway.catalog import AdapterGround, PlatformKind, catalog
from gateway.extensions.extension import load_extensions, waiting_for
from gateway.feature import Feature
from gateway.inbound.commands import menu
from gateway.models.answers import ask, question_for
from gateway.models.opening import check_programs, default_model, named_clients, open_models
from gateway.programs.loading import compile_routes, routes_of
from gateway.settings.tree import Settings
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError, LLMError, LLMUnavailable
from runtime.core.texts import english
from runtime.events.happening import Happening
from runtime.llm.choice import NoModel

_MODEL_LIMIT_S = 60.0
_PLATFORM_LIMIT_S = 20.0
_STORAGE_LIMIT_S = 60.0


class HealthProbe(Struct, frozen=True):
    """Something to ask. `ask` returns one line for a person; it raises a ParleyError when the answer is bad and
    TimeoutError when there is none. Where it is None or returns None, it is not set up, and `note` says how to."""

    name: str
    ask: Callable[[], Awaitable[str | None]] | None
    note: str = ""


async def probes(settings: Settings) -> list[HealthProbe]:
    """Everything that `parley check` asks, in order. A missing model is no error, because programs in Python
    need none.
    """
    choice = await default_model(settings)
    absent = isinstance(choice, NoModel) and settings.model_base_url is None and not settings.models
    return [
        HealthProbe("model", None, choice.reason) if absent else HealthProbe("model", lambda: _ask_models(settings)),
        HealthProbe("valkey", lambda: _ask_valkey(settings)),
        HealthProbe("archive", lambda: _ask_archive(settings), "set retention.archive_url"),
        HealthProbe(
            "encryption", lambda: ask_keys(settings), "content is stored unencrypted; set encryption.keys_file"
        ),
        *(
            HealthProbe(name, partial(_ask_platform, kind, settings), f"set {kind.switch}")
            for name, kind in catalog(settings).items()
        ),
        HealthProbe(
            "extended", lambda: _ask_extensions(settings), "no extension is installed or named in [extensions]"
        ),
        HealthProbe("programs", lambda: _ask_programs(settings)),
        HealthProbe("seats", lambda: _ask_seats(settings), "no one has a token in [participants.tokens]"),
        *(HealthProbe(one.name, partial(_ask_feature, one, settings), one.unasked) for one in FEATURES if one.is_asked),
        HealthProbe("sandbox", lambda: _ask_sandbox(settings)),
    ]


async def _ask_models(settings: Settings) -> str:
    """Ask each model once. Raises LLMUnavailable, with a line for each, when one does not answer."""
    lines: list[str] = []
    failed = False
    async with open_models(settings) as (models, _):
        for client, names in named_clients(models).items():
            try:
                line = f"{await ask(client, question_for(names), _MODEL_LIMIT_S)} ({', '.join(names)})"
            except (LLMError, TimeoutError) as error:
                failed = True
                line = f"{', '.join(names)}: {error or f'no answer within {_MODEL_LIMIT_S:g} s'}"
            lines.append(line)
    if failed:
        raise LLMUnavailable("\n".join(lines))
    return "\n".join(lines)


async def _ask_extensions(settings: Settings) -> str | None:
    loaded = load_extensions(settings.extensions.modules).loaded
    lines = [", ".join(one.name for one in loaded)]
    for name, kind in catalog(settings).items():
        waiting = waiting_for(name, loaded)
        if waiting and kind.factory(_ground(settings)) is None:
            lines.append(f"{', '.join(waiting)} waits for {name}, which is off: set {kind.switch}")
    return "\n".join(lines) if loaded else None


async def _ask_programs(settings: Settings) -> str:
    routes = routes_of(settings)
    programs = await compile_routes(settings, routes)
    check_programs(settings, programs.values())
    shown = [f"{', '.join(programs)} {'compiles' if len(programs) == 1 else 'compile'}"]
    return "\n".join(shown + ([] if routes.single else routes.lines()))


async def _ask_seats(settings: Settings) -> str | None:
    """The participants that may play agents. Raises ConfigError for an agent that no configured participant can
    play.
    """
    settings.participants.check((await compile_routes(settings, routes_of(settings))).values())
    return ", ".join(settings.participants.known()) or None


async def _ask_feature(feature: Feature, settings: Settings) -> str | None:
    routes = routes_of(settings)
    if feature.asked is not None:
        return await feature.asked(settings, await compile_routes(settings, routes))
    feature.check(settings, routes, dict.fromkeys(settings.platform_names, True))
    return "\n".join(feature.lines(settings, routes, SystemClock().now())) or None


def _refused(what: Happening) -> None:
    raise ConfigError(str(what.data()["error"]))


async def _ask_archive(settings: Settings) -> str | None:
    with anyio.fail_after(_STORAGE_LIMIT_S):
        async with open_archive(settings, on_event=_refused) as archive:
            if archive is None:
                return None
            kept = [session async for session in archive.sessions()]
            return f"{len(kept)} sessions"


async def _ask_valkey(settings: Settings) -> str:
    from runtime.storage.redis.client.server_check import ping

    with anyio.fail_after(_STORAGE_LIMIT_S):
        if settings.redis_url is not None:
            return await ping(settings.redis_url)
        from runtime.storage.embedded.valkey import EmbeddedValkey

        async with EmbeddedValkey(settings.data_dir) as socket:
            return f"embedded {await ping(f'unix://{socket}')}"


async def reach_database(settings: Settings, tell: Callable[[str], None]) -> None:
    """Return when the Redis of the settings has answered, if one is set; `tell` gets what people should know meanwhile.

    Raises StorageUnavailable where none answers in time, and ConfigError for a bad URL.
    """
    from runtime.storage.redis.client.server_check import reach

    if settings.redis_url is not None:
        await reach(settings.redis_url, tell)


async def _ask_platform(kind: PlatformKind, settings: Settings) -> str | None:
    listed = kind.factory(_ground(settings))
    if listed is None:
        return None
    try:
        with anyio.fail_after(_PLATFORM_LIMIT_S):
            return await listed.adapter.check()
    finally:
        if isinstance(listed.adapter, HoldsConnections):
            with anyio.move_on_after(1, shield=True):
                await listed.adapter.aclose()


def _ground(settings: Settings) -> AdapterGround:
    return AdapterGround(settings, SystemClock(), lambda _: _Unread(), commands=menu(english()), texts=english())


class _Unread:
    async def all(self) -> Mapping[str, str]:
        return {}

    async def get(self, name: str, /) -> str | None:
        return None

    async def put(self, name: str, value: str, /) -> None:
        """Nothing: a check stores nothing."""

    async def remove(self, name: str, /) -> None:
        """Nothing: a check stores nothing."""


async def _ask_sandbox(settings: Settings) -> str:
    async with open_sandbox(settings) as sandbox:
        return sandbox.wrapping.reason
