"""Strangers, secrets and keys in whole processes: who is asked before anything is posted, and what stands nowhere."""

from __future__ import annotations

import re
from io import FileIO
from pathlib import Path

import anyio
import httpx
import pytest

from runtime.core.texts import english
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.e2e.processes import family
from tests.e2e.talks import TelegramTalk, until_begun
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import FRIEND
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
REFUSED = english()("access.refused")
LIMIT_S = 90


async def test_stranger_on_discord_opens_no_thread(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with discord_wire.serving(platform) as address:
        environment = {
            "PARLEY_DISCORD__TOKEN": discord_wire.TOKEN,
            "PARLEY_DISCORD__BASE_URL": f"{address}/api/v10",
            "PARLEY_DISCORD__ALLOW_PEOPLE": str(world.bob.id),
        }
        async with gateway(tmp_path, TELLER, environment):
            with anyio.fail_after(LIMIT_S):
                await platform.until(lambda: platform.gateway.connected)
                refused = world.people.session(world.ada, world.general, "start", topic="free beer")
                await platform.until(lambda: bool(world.receipt(refused)))
                begun = world.people.session(world.bob, world.general, "start", topic="work")
                await platform.until(lambda: bool(world.receipt(begun)))
    assert world.receipt(refused) == REFUSED
    assert list(world.people.threads().values()) == ["work"]


async def test_stranger_on_slack_posts_nothing(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with slack_server.serving(platform) as address:
        environment = {
            "PARLEY_SLACK__BOT_TOKEN": platform.bot_token,
            "PARLEY_SLACK__APP_TOKEN": platform.app_token,
            "PARLEY_SLACK__BASE_URL": f"{address}/api/",
            "PARLEY_SLACK__ALLOW_PEOPLE": f"{TEAM}:{FRIEND}",
        }
        async with gateway(tmp_path, TELLER, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("slack")
                refused = platform.command("hello everybody")
                await platform.until(lambda: platform.events.events[refused].words is not None)
                platform.command("hello", person=FRIEND)
                await platform.until(lambda: bool(platform.messages()))
    words = platform.events.events[refused].words or {}
    assert (words["response_type"], words["text"]) == ("ephemeral", REFUSED)
    assert not any("everybody" in message.shown for message in platform.messages())


SECRETS = {
    "PARLEY_SLACK__BOT_TOKEN": "xoxb-1-slackbotsecret",
    "PARLEY_SLACK__SIGNING_SECRET": "slacksigningsecret",
    "PARLEY_SLACK__CLIENT_SECRET": "slackclientsecret",
    "PARLEY_DISCORD__TOKEN": "MTA3.discordsecret.aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "PARLEY_MODEL_API_KEY": "sk-modelsecret",
    "PARLEY_WEB__PASSWORD": "webpasswordsecret",
}


@pytest.mark.parametrize("form", ["human", "json"])
async def test_no_log_tells_a_secret_even_when_everything_fails(form: str, tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = {
            **SECRETS,
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__OWNERS": "1",
            "PARLEY_SLACK__CLIENT_ID": "1.2",
            "PARLEY_SLACK__BASE_URL": f"{address}/slack/api/",
            "PARLEY_DISCORD__BASE_URL": f"{address}/discord",
            "PARLEY_LOGS__LEVEL": "debug",
            "PARLEY_LOGS__FORMAT": form,
        }
        async with (
            gateway(tmp_path, TELLER, environment) as made,
            httpx.AsyncClient(trust_env=False, timeout=60) as http,
        ):
            talk = TelegramTalk(platform, chat=1)
            await talk.say("hello")
            await until_begun(talk, "I am the teller.")
            for path in ("events", "oauth?code=oauthcodesecret&state=1.2.3"):
                await http.post(f"{made.url}/hooks/slack/{path}", headers=[(b"X-Slack-Signature", "v0=\xe9".encode())])
            await http.get(f"{made.url}/hooks/slack/oauth?code=oauthcodesecret&state=1.2.3")
            await http.post(f"{made.url}/login", json={"name": "Eve", "password": "guessedsecret"})
            for name in ("telegram", "slack", "discord"):
                await made.prints(name)
            output = made.output
    found = [name for name, secret in {**SECRETS, "token": TOKEN}.items() if secret in output]
    assert found == []
    assert "oauthcodesecret" not in output
    assert "guessedsecret" not in output


HELLO_PROGRAM = ROOT / "examples" / "hello.pb"
HELLO = "Hello! What is your name? I would like to know it before we go on."
OURS = "sk-of-our-own-variable-8f2d"
THEIRS = "sk-of-a-providers-variable-41cc"
IN_FILE = "sk-in-the-dotenv-file-77aa"
SAID = b"Hello! What is your name?"
_PIECE = 1 << 20


def known_to(process_id: int, *texts: bytes) -> set[bytes]:
    """Which of the texts are in a process's environment, command or memory."""
    about = Path(f"/proc/{process_id}")
    start = (about / "environ").read_bytes() + (about / "cmdline").read_bytes()
    found = {text for text in texts if text in start}
    with (about / "mem").open("rb", buffering=0) as memory:
        for line in (about / "maps").read_text().splitlines():
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and "[v" not in line:
                found |= {text for text in texts if _is_within(memory, begin, end, text)}
    return found


def _is_within(memory: FileIO, begin: int, end: int, text: bytes) -> bool:
    rest = b""
    memory.seek(begin)
    while begin < end:
        try:
            piece = memory.read(min(_PIECE, end - begin))
        except OSError:
            return False
        if not piece:
            return False
        if text in rest + piece:
            return True
        rest, begin = piece[-len(text) :], begin + len(piece)
    return False


def model_process_of(running: Gateway) -> int:
    (found,) = [one.id for one in family(running.process_id) if "runtime.llm.worker" in one.command]
    return found


async def test_a_key_in_the_environment_is_known_to_the_models_process_alone(tmp_path: Path) -> None:
    keys = [key.encode() for key in (OURS, THEIRS)]
    async with OpenAIServer([Reply(HELLO)]) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": OURS,
            "MISTRAL_API_KEY": THEIRS,
        }
        async with gateway(tmp_path, HELLO_PROGRAM, environment, fresh=True) as running, running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            assert model.headers[0]["authorization"] == f"Bearer {OURS}"
            assert known_to(running.process_id, SAID, *keys) == {SAID}
            assert known_to(model_process_of(running), *keys) == set(keys)
        assert not re.search("|".join([OURS, THEIRS]), running.output)


async def test_a_key_in_the_dotenv_file_is_handed_over_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"PARLEY_MODEL_API_KEY={IN_FILE}\n")
    async with OpenAIServer([Reply(HELLO)]) as model:
        environment = {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model.base_url}
        async with gateway(tmp_path, HELLO_PROGRAM, environment, fresh=True) as running, running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until(HELLO)
            assert model.headers[0]["authorization"] == f"Bearer {IN_FILE}"
            assert known_to(running.process_id, SAID, IN_FILE.encode()) == {SAID}
