"""A front, which holds the bot and the pages, and an agent node, which answers: each is killed, in both orders."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from tests.e2e.gateway_process import Room
from tests.e2e.several_nodes import Nodes, one_valkey, several_nodes
from tests.e2e.talks import TelegramTalk, until_begun, until_said
from tests.e2e.tellers import (
    END_OF_STORY,
    HELLO,
    TELLER,
    in_mid_story,
    telegram_settings,
    until_last,
    until_told,
)
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

CHATS = range(701, 704)
NOTICE = "Nobody can answer at the moment. I keep what you write, and answer it as soon as that changes."


async def _begin(nodes: Nodes, *roles: str) -> None:
    for role in roles:
        await nodes.begin(role, PARLEY_NODES__ROLE=role)


async def test_whichever_of_the_two_is_killed_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, [], telegram_settings(address)) as nodes,
    ):
        await _begin(nodes, "agents", "front")
        await nodes["front"].listens_to("telegram")
        await in_mid_story(nodes, talks, "story")
        assert nodes.listening("telegram") == ["front"]
        await nodes.end("agents")
        for talk in talks:
            await talk.say("who is there?")
        await nodes.until(lambda: len(nodes.logged("front", "message.admitted")) >= 3 * len(talks))
        await _begin(nodes, "agents")
        for talk in talks:
            await until_said(talk, "You said: who is there?")

        for talk in talks:
            await talk.say("long")
        for talk in talks:
            await until_begun(talk, "Once")
        await nodes.end("front")
        for talk in talks:
            await talk.say("and now?")
        await until_told(talks, times=2)
        await _begin(nodes, "front")
        await until_last(talks, "You said: and now?")
    for talk in talks:
        said = [text for text in talk.texts() if text != NOTICE]  # a busy machine takes longer to start a node
        assert said == [HELLO, said[1], "You said: who is there?", said[3], "You said: and now?"]
        assert [text.endswith(END_OF_STORY) for text in (said[1], said[3])] == [True, True]
        assert talk.posts() == len(talk.texts())


async def test_while_no_agent_node_lives_people_are_told_and_what_they_write_is_answered_later(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talk = TelegramTalk(platform, chat=CHATS[0])
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, [], telegram_settings(address)) as nodes,
        AsyncExitStack() as stack,
    ):
        await _begin(nodes, "front")
        await nodes["front"].prints("none is there yet: what people write is kept")
        room = Room(await stack.enter_async_context(nodes["front"].page()), "lobby")
        await room.join()
        await room.say("hi")
        await talk.say("hi")
        await talk.say("/help")
        await until_said(talk, NOTICE)
        await room.until(NOTICE, kind="notice")
        await _begin(nodes, "agents")
        await room.until(HELLO)
        await talk.until_that(lambda: HELLO in talk.texts())
        assert [text for text in talk.texts() if text.startswith(("Nobody", "I am"))] == [NOTICE, HELLO]
        assert [event["seconds"] >= 10 for event in nodes.logged("front", "agents.present")] == [True]


async def test_an_agent_node_serves_no_pages_and_no_bus_and_a_front_says_who_is_there(tmp_path: Path) -> None:
    (tmp_path / "ci").write_text(token := "a-token-of-ci-in-tests")
    clients = {
        "PARLEY_CLIENTS__CI__TOKEN_FILE": str(tmp_path / "ci"),
        "PARLEY_CLIENTS__CI__SCOPES": "events:read:>",
    }
    expected = {
        "/healthz": 200,
        "/readyz": 200,
        "/": 404,
        "/session": 404,
        "/bus/v1/events": 404,
    }
    async with one_valkey() as url, several_nodes(tmp_path, TELLER, url, [], clients) as nodes:
        await _begin(nodes, "agents", "front")
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=nodes["agents"].url, headers=headers) as http:
            assert {path: (await http.get(path)).status_code for path in expected} == expected
        async with httpx.AsyncClient(base_url=nodes["front"].url, headers=headers) as http:
            there = (await http.get("/bus/v1/agents")).json()
            assert [len(there["nodes"]), len(there["fronts"])] == [1, 1]
        assert "owner" not in nodes["agents"].output.partition("{")[0]
