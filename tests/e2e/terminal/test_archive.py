"""A session goes into the archive while its gateway runs, and comes back with the next word."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, gateway, parley
from tests.e2e.talks import TelegramTalk, until
from tests.fakes.servers.postgres import RealPostgres
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

COUNTER = ROOT / "tests" / "e2e" / "programs" / "counter.pb"
LIMIT_S = 90


@pytest.fixture(params=["sqlite", "postgres"])
def archive(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    """Settings by which what is older than a tenth of a second belongs in an archive."""
    soon = {"PARLEY_RETENTION__ARCHIVE_AFTER_DAYS": "0.000001"}
    if request.param == "sqlite":
        yield soon
        return
    postgres = RealPostgres()
    postgres.start()
    yield {**soon, "PARLEY_RETENTION__ARCHIVE_URL": postgres.url}
    postgres.kill()
    postgres.remove()


async def printed(directory: Path, settings: Mapping[str, str], *arguments: str) -> str:
    """What a command prints that must succeed."""
    status, output, errors = await parley(directory, *arguments, **settings)
    assert status == 0, errors
    return output


async def archived(directory: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The only session, once the rules were applied to it at rest."""
    with anyio.fail_after(LIMIT_S):
        while not (await printed(directory, settings, "sessions", "prune", "--apply")).startswith("1 "):
            pass
    (line,) = (await printed(directory, settings, "sessions", "list", "--json")).splitlines()
    session: dict[str, str] = json.loads(line)
    assert session["state"] == "archived"
    return session


async def test_who_comes_back_after_long_is_known(tmp_path: Path, archive: Mapping[str, str]) -> None:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        telegram = {"PARLEY_TELEGRAM__TOKEN": TOKEN, "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot"}
        async with gateway(tmp_path, COUNTER, {**telegram, **archive, "PARLEY_TELEGRAM__ACCESS": "open"}) as running:
            talk = TelegramTalk(platform, chat=301)
            await talk.say("hi")
            await until(talk, "I count.")
            await talk.say("one")
            await until(talk, "I count.", "That was number 1.")
            session = await archived(tmp_path, archive)
            assert "That was number 1." in await printed(tmp_path, archive, "sessions", "show", session["session"])
            await talk.say("two")
            await until(talk, "I count.", "That was number 1.", "That was number 2.")
            await archived(tmp_path, archive)
            running.kill()
            await running.gone()
            await running.start()
            await talk.say("three")
            await until(talk, "I count.", "That was number 1.", "That was number 2.", "That was number 3.")
            await archived(tmp_path, archive)
        assert await printed(tmp_path, archive, "sessions", "delete", session["session"])
        assert "There are no sessions." in await printed(tmp_path, archive, "sessions", "list")
