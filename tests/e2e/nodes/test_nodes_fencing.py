"""A node that believes to own what another has taken over: its commits are refused, and people notice nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from tests.e2e.several_nodes import Nodes, Record, noted, one_valkey, several_nodes
from tests.e2e.talks import TelegramTalk
from tests.e2e.tellers import END_OF_STORY, TELLER, all_answered, in_mid_story, telegram_settings
from tests.fakes.servers.cut_wire import CutWire
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

CHATS = range(721, 727)
MARKUP = 10
"""A text may become shorter by so many characters when its markup is closed."""


async def back_again(nodes: Nodes, talks: Sequence[TelegramTalk], record: Record) -> None:
    """The first node has its half again, has let go of what it believed to own, and all that is said is answered."""
    told = nodes.balances("a")
    await nodes.until(lambda: len(nodes.logged("a", "node.shard_lost")) >= 32)
    await nodes.has("a", 32, after=told)
    await all_answered(talks, "again")
    noted(record, {name: len(nodes.logged("a", name)) for name in ("session.fenced", "node.shard_lost")})
    for talk in talks:
        lengths = [len(text) for text in talk.platform.messages(talk.chat)[1].history]
        begun_again = sum(later < earlier - MARKUP for earlier, later in pairwise(lengths))
        assert begun_again <= 1, f"two nodes have told one story: {lengths}"
        assert [text.split()[0] for text in talk.texts()] == ["I", "Once", "You", "You"]
        assert talk.texts()[1].endswith(END_OF_STORY)
        assert talk.posts() == 4


def first_at(nodes: Nodes, name: str, shards: int, after: int) -> str:
    """When a node told that it has so many shards, after so many times of telling it."""
    return next(str(one["at"]) for one in nodes.logged(name, "node.balanced")[after:] if one["shards"] == shards)


async def test_a_node_that_stood_still_for_longer_than_its_leases_writes_and_shows_nothing_of_what_it_has_lost(
    tmp_path: Path, record_property: Record
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
    async with (
        serving(platform) as address,
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], telegram_settings(address)) as nodes,
    ):
        await nodes.balanced("a", "b")
        await in_mid_story(nodes, talks, "long")
        told = nodes.balances("b")
        os.kill(nodes["a"].process_id, signal.SIGSTOP)
        stopped_at = anyio.current_time()
        await nodes.has("b", 64, after=told)
        noted(record_property, {"taken_over_s": anyio.current_time() - stopped_at})
        await all_answered(talks, "and then?")
        os.kill(nodes["a"].process_id, signal.SIGCONT)
        await back_again(nodes, talks, record_property)


async def test_a_node_that_is_cut_off_from_the_database_falls_silent_before_another_takes_over(
    tmp_path: Path, record_property: Record
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    talks = [TelegramTalk(platform, chat=chat) for chat in CHATS]
    async with one_valkey() as url, serving(platform) as address:
        socket = Path(url.removeprefix("unix://"))
        async with (
            CutWire(socket, socket.with_name("wire.sock")) as wire,
            several_nodes(tmp_path, TELLER, url, ["b"], telegram_settings(address)) as nodes,
        ):
            await nodes.begin("a", PARLEY_REDIS_URL=f"unix://{wire.path}")
            await nodes.balanced("a", "b")
            await in_mid_story(nodes, talks, "long")
            told, isolated = nodes.balances("b"), len(nodes.logged("a", "node.isolated"))
            wire.hang()
            cut_at = anyio.current_time()
            await nodes["a"].prints("node.isolated", times=isolated + 1)
            times = {"silent_s": anyio.current_time() - cut_at}
            await nodes.has("b", 64, after=told)
            silent_at, taken_at = nodes.logged("a", "node.isolated")[isolated]["at"], first_at(nodes, "b", 64, told)
            assert silent_at < taken_at
            noted(record_property, times | {"taken_over_s": anyio.current_time() - cut_at})
            await all_answered(talks, "and then?")
            wire.mend()
            await back_again(nodes, talks, record_property)
