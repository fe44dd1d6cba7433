"""Two nodes and one bot of Telegram's: one long poll at a time, and nothing lost or doubled when its holder dies."""

from __future__ import annotations

import signal
from pathlib import Path

import anyio
import httpx
import pytest

from tests.e2e.several_nodes import LIMIT_S, Record, noted, one_valkey, several_nodes
from tests.e2e.talks import TelegramTalk, until
from tests.e2e.tellers import (
    END_OF_STORY,
    HELLO,
    TELLER,
    all_answered,
    greeted,
    in_mid_story,
    telegram_settings,
    until_last,
    until_told,
)
from tests.fakes.servers.ports import free_port
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

CHATS = range(701, 709)


async def test_a_kill_of_the_node_that_polls_loses_and_doubles_nothing(tmp_path: Path, record_property: Record) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], telegram_settings(address)) as nodes,
    ):
        await nodes.balanced("a", "b")
        holder = await nodes.listener("telegram")
        (other,) = set(nodes.by_name) - {holder}
        await in_mid_story(nodes, talks, "story")
        await nodes.end(holder)
        killed_at = anyio.current_time()
        for talk in talks:
            await talk.say("and then?")
        await nodes[other].listens_to("telegram")
        times = {"polled_again_s": anyio.current_time() - killed_at}
        await until_last(talks, "You said: and then?")
        times["all_answered_s"] = anyio.current_time() - killed_at
        noted(record_property, times)
        await nodes.until(lambda: nodes.logged(other, "node.balanced")[-1]["shards"] == 64)
    for talk in talks:
        assert len(talk.texts()) == 3
        assert talk.texts()[1].endswith(END_OF_STORY)
        assert talk.posts() == 3
    assert [call for call in platform.calls_of("getUpdates") if call.status == 409] == []


async def test_an_answer_that_a_stopped_node_cannot_finish_in_time_grows_on_in_the_same_message_on_another(
    tmp_path: Path, record_property: Record
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(
            tmp_path, TELLER, url, ["a", "b"], telegram_settings(address, PARLEY_NODES__DRAIN_S="0.1")
        ) as nodes,
    ):
        await nodes.balanced("a", "b")
        await in_mid_story(nodes, talks, "long")
        stopped_at = anyio.current_time()
        assert await nodes["a"].stop(signal.SIGTERM) == 0
        noted(record_property, {"stopped_s": anyio.current_time() - stopped_at})
        assert nodes.logged("a", "node.drained") != []
        begun = [talk.platform.messages(talk.chat)[1].history[-1] for talk in talks]
        assert not all(text.endswith(END_OF_STORY) for text in begun)
        await until_told(talks, times=1)
        await all_answered(talks, "and then?")
    for talk in talks:
        assert [text.split()[0] for text in talk.texts()] == ["I", "Once", "You"]
        assert talk.posts() == 3
    assert [call for call in platform.calls_of("getUpdates") if call.status == 409] == []


async def test_with_a_webhook_every_node_takes_updates_and_one_that_comes_to_both_is_answered_once(
    tmp_path: Path,
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, [], telegram_settings(address)) as nodes,
    ):
        ports = {name: free_port() for name in ("a", "b")}
        for name, port in ports.items():
            hook = f"http://127.0.0.1:{port}/hooks/telegram"
            await nodes.begin(name, PARLEY_WEB__PORT=str(port), PARLEY_TELEGRAM__WEBHOOK_URL=hook)
        await nodes.balanced("a", "b")
        talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
        await greeted(talks)
        updates = platform.main.updates
        async with httpx.AsyncClient(
            headers={"X-Telegram-Bot-Api-Secret-Token": updates.secret}, timeout=LIMIT_S
        ) as http:
            for number, talk in enumerate(talks):
                update = platform.say(f"number {number}", chat=talk.chat, person=talk.chat)
                for port in ports.values():
                    hook = f"http://127.0.0.1:{port}/hooks/telegram"
                    answer = await http.post(hook, json=updates.content_of(update))
                    assert answer.status_code == 200
        for number, talk in enumerate(talks):
            await talk.say("the last")
            await until(talk, HELLO, f"You said: number {number}", "You said: the last")
    assert platform.calls_of("getUpdates") == []
