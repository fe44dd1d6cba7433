"""Two nodes with bots on Slack and Discord: one connection each, also when its holder dies, or requests to both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import aiohttp
import anyio
import pytest

from tests.e2e.life.test_kills import Discord, Place, Slack, said, until
from tests.e2e.platforms.test_discord import discord_settings
from tests.e2e.platforms.test_slack import slack_settings
from tests.e2e.several_nodes import LIMIT_S, Record, noted, one_valkey, several_nodes
from tests.e2e.tellers import END_OF_STORY, HELLO, TELLER
from tests.fakes.discord import wire as discord_wire
from tests.fakes.slack import http as slack_http
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.platform import SIGNING_SECRET

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def test_kills_of_the_nodes_that_are_connected_lose_and_double_nothing(
    tmp_path: Path, record_property: Record
) -> None:
    slack, discord = Slack(), Discord()
    places: dict[str, Place] = {"slack": slack, "discord": discord}
    async with (
        slack_server.serving(slack.platform) as first,
        discord_wire.serving(discord.platform) as second,
        one_valkey() as url,
        several_nodes(
            tmp_path,
            TELLER,
            url,
            ["a", "b"],
            {**slack_settings(slack.platform, first, PARLEY_SLACK__ACCESS="open"), **discord_settings(second)},
        ) as nodes,
    ):
        await nodes.balanced("a", "b")
        with anyio.fail_after(LIMIT_S):
            await discord.platform.until(lambda: discord.platform.gateway.connected)
        holders = {name: await nodes.listener(name) for name in places}
        for place in places.values():
            place.begin()
        for place in places.values():
            await until(place, said(HELLO))
            place.say("long")
        for place in places.values():
            await until(place, said("Once"))
        await nodes.until(lambda: sum(len(nodes.logged(one, "page.sent")) for one in nodes.by_name) >= 4)
        killed = holders["discord"]
        (other,) = set(nodes.by_name) - {killed}
        mine = [name for name, holder in holders.items() if holder == killed]
        await nodes.end(killed)
        killed_at = anyio.current_time()
        for place in places.values():
            place.say("and then?")
        for name in mine:
            await nodes[other].listens_to(name)
            noted(record_property, {f"{name}_s": anyio.current_time() - killed_at})
        for place in places.values():
            await until(place, said("You said: and then?"))
            await until(place, said(END_OF_STORY))
            texts = [text for text, _ in place.messages()]
            assert [sum(part in text for text in texts) for part in (HELLO, "Once there was", "You said:")] == [1, 1, 1]


async def test_what_slack_sends_to_both_nodes_by_http_is_answered_once(tmp_path: Path) -> None:
    slack = Slack()
    async with (
        slack_server.serving(slack.platform) as address,
        one_valkey() as url,
        aiohttp.ClientSession() as session,
    ):
        environment = slack_settings(slack.platform, address, PARLEY_SLACK__ACCESS="open")
        del environment["PARLEY_SLACK__APP_TOKEN"]
        environment["PARLEY_SLACK__SIGNING_SECRET"] = SIGNING_SECRET
        async with several_nodes(tmp_path, TELLER, url, ["a", "b"], environment) as nodes:
            await nodes.balanced("a", "b")
            await nodes.until(lambda: len(nodes.listening("slack")) == 2)
            ways = [slack_http.to_url(session, f"{nodes[name].url}/hooks/slack/events") for name in ("a", "b")]

            async def to_both(headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
                answers = [await send(headers, body) for send in ways]
                return answers[0]

            slack.platform.events.post = slack_http.posting(slack.platform.clock, to_both)
            slack.begin()
            await until(slack, said(HELLO))
            for text in ("one", "two"):
                slack.say(text)
                await until(slack, said(f"You said: {text}"))
            assert [text for text, _ in slack.messages()] == [HELLO, "You said: one", "You said: two"]
