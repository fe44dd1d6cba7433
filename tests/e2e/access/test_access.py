"""Who may talk, in whole processes: strangers, codes, roles, blocks and limits, changed while the gateway runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from runtime.core.texts import english
from tests.e2e.gateway_process import ROOT, Gateway, gateway, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until, until_begun
from tests.fakes.telegram.platform import GROUP, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TEXTS = english()
TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."


@asynccontextmanager
async def running(directory: Path, **settings: str) -> AsyncIterator[tuple[Gateway, TelegramPlatform]]:
    """A gateway on Telegram whose owner is person 1."""
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = {
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__OWNERS": "1",
            **settings,
        }
        async with gateway(directory, TELLER, environment) as made:
            yield made, platform


async def asked(talk: TelegramTalk) -> str:
    """The code that a stranger is told."""
    await talk.say("hello?")
    await until_begun(talk, "This is a private bot. To get access, give its owner this code within 60 minutes: ")
    return talk.texts()[-1].rpartition(" ")[2]


async def test_a_stranger_is_approved_from_the_console_while_the_gateway_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, platform):
        stranger = TelegramTalk(platform, chat=301)
        code = await asked(stranger)
        _, listed, _ = await parley(tmp_path, "access", "list")
        assert re.search(rf"waits +telegram:301 .*code {code}, until \d\d:\d\d UTC", listed)
        status, output, errors = await parley(tmp_path, "access", "approve", code.lower())
        assert status == 0, errors
        assert "telegram:301) now has the role member. The gateway tells them." in output
        await until_begun(stranger, TEXTS("access.approved"))
        await stranger.say("and now?")
        await until_begun(stranger, HELLO)
        _, listed, _ = await parley(tmp_path, "access", "list")
        assert re.search(r"^member +telegram:301 ", listed)
        assert code not in listed


async def test_who_is_approved_while_the_gateway_rests_is_told_once_when_it_runs_again(tmp_path: Path) -> None:
    async with running(tmp_path) as (made, platform):
        stranger = TelegramTalk(platform, chat=301)
        code = await asked(stranger)
        made.kill()
        await made.gone()
        status, _, errors = await parley(tmp_path, "access", "approve", code)
        assert status == 0, errors
        await made.start()
        await until_begun(stranger, TEXTS("access.approved"))
        await stranger.say("hello")
        await until_begun(stranger, HELLO)
        made.kill()
        await made.gone()
        await made.start()
        await stranger.say("again")
        await until_begun(stranger, "You said: again")
        assert stranger.texts().count(TEXTS("access.approved")) == 1


async def test_an_owner_approves_in_chat_and_both_are_told(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, platform):
        stranger, owner = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=1)
        code = await asked(stranger)
        await stranger.say(f"/access approve {code}")
        await owner.say("/access list")
        await owner.until_that(lambda: code in owner.texts()[-1] if owner.texts() else False)
        await owner.say(f"/access approve {code}")
        await owner.until_that(lambda: "(telegram:301) now has the role member." in owner.texts()[-1])
        await until_begun(stranger, TEXTS("access.approved"))
        await stranger.say("/access list")
        await until_begun(stranger, TEXTS("commands.not_allowed", command="access"))
        await stranger.say("hi")
        await until_begun(stranger, HELLO)


async def test_who_is_blocked_hears_one_sentence_and_is_heard_again_after_a_revocation(tmp_path: Path) -> None:
    async with running(tmp_path, PARLEY_TELEGRAM__ALLOW_PEOPLE="301") as (_, platform):
        person, other = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=1)
        await person.say("hi")
        await until(person, HELLO)
        assert (await parley(tmp_path, "access", "block", "telegram:301"))[0] == 0
        await person.say("what about this?")
        await person.say("and this?")
        await other.say("hi")
        await until(other, HELLO)
        await until(person, HELLO, TEXTS("access.blocked"))
        assert (await parley(tmp_path, "access", "revoke", "telegram:301"))[0] == 0
        await person.say("thanks")
        await until(person, HELLO, TEXTS("access.blocked"), "You said: thanks")


async def test_a_guest_talks_in_an_open_group_and_commands_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, PARLEY_TELEGRAM__ALLOW_CHATS=str(GROUP)) as (_, platform):
        guest = TelegramTalk(platform, chat=GROUP, person=302)
        await guest.say("@ParleyBot hi")
        await until_begun(guest, f"Teller\n{HELLO}")
        await guest.say("/new@ParleyBot")
        await until_begun(guest, TEXTS("commands.not_allowed", command="new"))
        await guest.say("/who@ParleyBot")
        await guest.until_that(lambda: guest.texts()[-1].endswith("Teller (agent)"))
        alone = TelegramTalk(platform, chat=302)
        await asked(alone)


async def test_a_stranger_in_the_group_neither_stops_nor_steers_what_a_member_began(tmp_path: Path) -> None:
    """Who may is asked of each message: a conversation that somebody was let into lets nobody else in."""
    async with running(tmp_path) as (_, platform):
        owner, stranger = TelegramTalk(platform, GROUP, person=1), TelegramTalk(platform, GROUP, person=302)
        await owner.say("@ParleyBot hi")
        await until_begun(owner, f"Teller\n{HELLO}")
        await owner.say("@ParleyBot slow")
        await until_begun(owner, "Teller\nOnce")
        await stranger.say("/stop@ParleyBot")
        await stranger.say("@ParleyBot tell me your secrets")
        await owner.say("/status@ParleyBot")
        await owner.until_that(lambda: "Begin → Listen" in owner.texts()[-1])
        assert not any("⏹" in text or "secrets" in text for text in owner.texts())
        await owner.say("/stop@ParleyBot")
        await owner.until_that(lambda: "⏹" in owner.texts()[-1])


async def test_over_a_limit_people_are_told_when_it_goes_on_and_owners_are_not_limited(tmp_path: Path) -> None:
    limits = {"PARLEY_TELEGRAM__ALLOW_PEOPLE": "301", "PARLEY_LIMITS__PERSON_MESSAGES_PER_DAY": "2"}
    async with running(tmp_path, **limits) as (made, platform):
        person, owner = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=1)
        for text in ("hi", "one", "two", "three"):
            await person.say(text)
        sentence = "You may send 2 messages a day, so I did not accept this one. Try again in "
        await until_begun(person, sentence)
        made.kill()
        await made.gone()
        await made.start()
        await person.say("four, after a restart")
        for number in range(4):
            await owner.say(f"message {number}")
        await until_begun(owner, "You said: message 3")
        assert [text for text in person.texts() if not text.startswith(sentence)] == [HELLO, "You said: one"]
        assert sum(text.startswith(sentence) for text in person.texts()) == 1


async def test_access_says_what_is_wrong(tmp_path: Path) -> None:
    status, _, errors = await parley(tmp_path, "access", "approve", "NOBODYS1")
    assert (status, errors) == (2, "parley: nobody is waiting with the code NOBODYS1; see parley access list.\n")
    status, _, errors = await parley(tmp_path, "access", "block", "telegrm:4")
    assert status == 2
    assert '"telegrm:4" is not a person' in errors
    status, output, _ = await parley(tmp_path, "access", "list")
    assert (status, output.splitlines()) == (
        0,
        [
            "Nobody has a role of their own, and nobody is waiting for access.",
            "The settings decide: the web chat is open to everybody on this machine.",
        ],
    )


async def test_everything_is_said_in_the_language_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "de.toml").write_text(
        '[access]\nrefused = "Das ist ein privater Bot."\n[commands]\nunknown = "/{command} kenne ich nicht."\n'
        '[commands.help]\nwhat = "was hier geht"\n'
    )
    german = {
        "PARLEY_LANGUAGE": "de",
        "PARLEY_TEXTS_DIR": str(tmp_path),
        "PARLEY_TELEGRAM__ACCESS": "allowlist",
    }
    async with running(tmp_path, **german) as (_, platform):
        stranger, owner = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=1)
        await stranger.say("hi")
        await until(stranger, "Das ist ein privater Bot.")
        await owner.say("/tanze")
        await until_begun(owner, "/tanze kenne ich nicht.")
        menus = [call.params["commands"] for call in platform.calls_of("setMyCommands")]
        assert "was hier geht" in str(menus)


async def test_the_code_of_the_web_chat_makes_an_owner_who_lets_people_in_everywhere(tmp_path: Path) -> None:
    async with running(tmp_path) as (made, platform), AsyncExitStack() as stack:
        [printed] = await made.prints(r"web +say this code in a room to be an owner: (\w{8})")
        code = await asked(TelegramTalk(platform, chat=301))
        web = WebTalk("owners")
        await web.look(made, stack)

        async def told(part: str) -> None:
            await web.until_that(lambda: any(part in text for text in web.room.texts("notice")))

        await web.say("/access list")
        await told(TEXTS("commands.not_allowed", command="access"))
        await web.say(printed[1])
        await told(TEXTS("access.paired"))
        await web.say(f"/access approve {code}")
        await told("(telegram:301) now has the role member.")
        await until_begun(TelegramTalk(platform, chat=301), TEXTS("access.approved"))
