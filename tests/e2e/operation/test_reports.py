"""A failure on Telegram ends in one report that names the step, however often it happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, gateway, key_in, parley
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

BAKER = ROOT / "tests" / "e2e" / "programs" / "baker.pb"
HELLO = "I share a cake."
GREET = "\n## Greet\nexecution_mode: raw\nSay what you do.\n"
OWNER = 300


async def test_ten_alike_failures_are_one_report_to_the_owner_that_names_the_step(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    looks = [Reply('{"look": "search", "text": "cake"}'), Reply('{"guess": "Nobody came."}')]
    program = tmp_path / "baker.pb"  # the model greets, so it has the conversation when that fails
    program.write_text(BAKER.read_text().replace(f'"{HELLO}"', "await Greet()") + GREET)
    async with serving(platform) as address, OpenAIServer([*[Reply(HELLO)] * 11, *looks]) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(tmp_path),
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
            "PARLEY_TELEGRAM__OWNERS": str(OWNER),
        }
        async with gateway(tmp_path, program, environment):
            owner = TelegramTalk(platform, chat=OWNER)
            await owner.say("hi")
            await until(owner, HELLO)
            others = [TelegramTalk(platform, chat=400 + number) for number in range(10)]
            for other in others:
                await other.say("hi")
            for other in others:
                await until(other, HELLO)
            for other in others:
                await other.say("0")
            for other in others:
                await until_begun(other, "⚠️ Divide failed: ")
            await until_begun(owner, "🐞 Report 1")
            await until_begun(owner, "🐞 Report 1: a model that has read the session guesses: “Nobody came.”")
            told = owner.texts()[-2]
            assert "Baker: Divide:01:EXE, “Set $share to 12 / $people”" in told
            assert "a calculation has no result" in told
            await owner.until_that(lambda: any(row.buttons for row in platform.messages(OWNER)))
            (report,) = [row for row in platform.messages(OWNER) if row.buttons]
            choices = {button["text"]: button["callback_data"] for row in report.buttons for button in row}
            platform.press(choices["Leave it"], chat=OWNER, person=OWNER)
            await until_begun(owner, "Report 1 is left as it is.")
            platform.press(choices["Try again from there"], chat=OWNER, person=OWNER)
            await until_begun(owner, "The conversation of report 1 continues from before the failure.")
            (first,) = [other for other in others if f"telegram:{other.chat}." in told]
            await first.until_that(lambda: [text[:10] for text in first.texts()][2:] == ["↩️ Somethi", "⚠️ Divide "])
            assert len(owner.texts()) == 5
            _, listed, _ = await parley(tmp_path, "debug", "list")
            assert "PlaybookError" in listed
            assert " 11 " in listed.splitlines()[1]
            _, shown, _ = await parley(tmp_path, "debug", "show", "1")
            assert "goes on  parley debug again 1\na model  guesses: Nobody came." in shown
            _, tasks, _ = await parley(tmp_path, "tasks", "list")
            assert "Debugger.Explain" in tasks
