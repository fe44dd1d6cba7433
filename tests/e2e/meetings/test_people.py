"""Two people whom a program names, in one room of the web chat, with a gateway that is killed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.gateway_process import Room, gateway

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = Path(__file__).parents[1] / "programs" / "panel.pb"


async def test_people_are_bound_told_and_asked_by_name_over_a_kill(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM, {}) as made:
        async with made.page("Alice") as alices, made.page("Zoe") as zoes:
            alice, zoe = Room(alices), Room(zoes)
            await alice.join()
            await zoe.join()
            await alice.say("hello")
            await alice.until_some("Who is who?")
            await zoe.say("/iam Bob")
            await zoe.until_some("Zoe is Bob here.")
            await zoe.say("here I am")
            await zoe.until_some("welcome, Bob")
            await zoe.until_some("Shall we?")
            await zoe.say("2")
            await zoe.until_some("Bob has answered (1 of 2).")
            made.kill()
            await made.gone()
        await made.start()
        async with made.page("Alice") as alices:
            alice = Room(alices)
            await alice.join()
            await alice.say("yes")
            await alice.until_some("Bob said No")
            assert alice.texts()[0] == "Who is who?"
            assert [text.partition("@Zoe")[1] for text in alice.texts()[1:3]] == ["@Zoe", "@Zoe"]
            [last] = [text for text in alice.texts() if "you said Yes" in text]
            assert "Bob said No" in last, "what is held is shown together"
