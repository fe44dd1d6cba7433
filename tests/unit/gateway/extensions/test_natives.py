"""The objects of the platforms' libraries reach the extensions that want them, and one that fails is passed over."""

import logging
from collections.abc import Mapping

import anyio
import pytest

from adapters.web.adapter import WebAdapter
from gateway.assembly.probes import probes
from gateway.catalog import AdapterGround, listed
from gateway.extensions import extension as declared
from gateway.extensions.extension import Extension, LoadedExtensions, handing_over
from gateway.settings.tree import Settings
from runtime.core.clock import SystemClock
from runtime.core.texts import english
from tests.fakes.observing.records import MemoryRecords


def told(caplog: pytest.LogCaptureFixture) -> list[Mapping[str, object]]:
    return [vars(record) for record in caplog.records if hasattr(record, "extension")]


async def test_plain_and_async_functions_get_the_object_of_their_platform() -> None:
    extension = Extension("words", api=1)
    got: list[object] = []

    @extension.slack
    def plain(app: object) -> None:
        got.append(("slack", app))

    @extension.slack
    async def later(app: object) -> None:
        got.append(("slack later", app))

    @extension.discord
    def client(app: object) -> None:
        got.append(("discord", app))

    await handing_over("slack", [extension])("the app")
    assert got == [("slack", "the app"), ("slack later", "the app")]


async def test_function_that_raises_or_does_not_end_is_told_of_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(declared, "EXTENDS_WITHIN_S", 0.01)
    extension = Extension("words", api=1)
    got: list[object] = []

    @extension.telegram
    def broken(_: object) -> None:
        raise KeyError("no such thing")

    @extension.telegram
    async def endless(_: object) -> None:
        await anyio.sleep_forever()

    extension.telegram(got.append)
    await handing_over("telegram", [extension])("the bot")
    assert got == ["the bot"]
    assert [(one["extension"], one["platform"], one["error"]) for one in told(caplog)] == [
        ("words", "telegram", "KeyError('no such thing')"),
        ("words", "telegram", "TimeoutError()"),
    ]


async def test_extension_whose_platform_is_off_is_named_with_what_switches_it_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    extension = Extension("words", api=1)
    extension.slack(print)
    monkeypatch.setattr("gateway.catalog.load_extensions", lambda _: LoadedExtensions((extension,)))
    caplog.set_level(logging.WARNING)
    settings = Settings()
    ground = AdapterGround(settings, SystemClock(), lambda _: MemoryRecords(), commands={}, texts=english())
    assert len(list(listed(ground, object.__new__(WebAdapter)))) == 1
    assert [(one["extension"], one["platform"], one["switch"]) for one in told(caplog)] == [
        ("words", "slack", "PARLEY_SLACK__BOT_TOKEN and PARLEY_SLACK__APP_TOKEN")
    ]
    monkeypatch.setattr("gateway.assembly.probes.load_extensions", lambda _: LoadedExtensions((extension,)))
    [extended] = [one for one in await probes(settings) if one.name == "extended"]
    assert extended.ask is not None
    switch = "set PARLEY_SLACK__BOT_TOKEN and PARLEY_SLACK__APP_TOKEN"
    assert await extended.ask() == f"words\nwords waits for slack, which is off: {switch}"
