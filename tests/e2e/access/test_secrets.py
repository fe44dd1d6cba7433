"""What stands in the logs of a whole process: everything but secrets."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.talks import TelegramTalk, until_begun
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
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
