"""Many programs in one gateway, and a failure of one that ends in one report."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Gateway, gateway, key_in, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until, until_begun
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import GROUP, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ROUTES = f"""
[telegram]
access = "open"

[[route]]
program = "programs/group.pb"
platform = "telegram"
chat = {GROUP}

[[route]]
program = "programs/tax.pb"
command = "tax"
choose = true

[[route]]
program = ["programs/web.pb"]
platform = "web"

[[route]]
program = "programs/hello.pb"
name = "greeter"
choose = true
"""


PROGRAM = """\
# NAME
Answers.

````python
@playbook(triggers=["When program starts"])
async def Begin():
    '''Answers, again and again.'''
    await Say("user", "Here is NAME.")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "NAME heard: " + message["text"])
````
"""


def write(directory: Path, toml: str = ROUTES) -> None:
    """The settings, and programs that say their names."""
    (directory / "programs").mkdir()
    for name in ("Group", "Tax", "Web", "Hello"):
        (directory / "programs" / f"{name.lower()}.pb").write_text(PROGRAM.replace("NAME", name))
    (directory / "parley.toml").write_text(toml)


@pytest.fixture
async def routed(tmp_path: Path) -> AsyncGenerator[tuple[Gateway, TelegramPlatform]]:
    write(tmp_path)
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = {"PARLEY_TELEGRAM__TOKEN": TOKEN, "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot"}
        async with gateway(tmp_path, None, environment) as running:
            yield running, platform


async def test_each_place_and_each_command_has_its_program(routed: tuple[Gateway, TelegramPlatform]) -> None:
    running, platform = routed
    private, group, web = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=GROUP, person=42), WebTalk("a")
    async with AsyncExitStack() as stack:
        await web.look(running, stack)
        await web.say("hi")
        await private.say("hi")
        await group.say("@ParleyBot hi")
        await until(web, "Here is Web.")
        await until(private, "Here is Hello.")
        await until(group, "Group\nHere is Group.")
        await private.say("/tax")
        await until_begun(private, "Here is Tax.")
        await private.say("income")
        await until_begun(private, "Tax heard: income")
        await private.say("/new")
        await until_begun(private, "Here is Hello.")
    menus = str([call.params["commands"] for call in platform.calls_of("setMyCommands")])
    assert "start the program tax" in menus


async def test_a_chosen_program_is_remembered_also_over_a_restart(routed: tuple[Gateway, TelegramPlatform]) -> None:
    running, platform = routed
    talk = TelegramTalk(platform, chat=301)
    await talk.say("/programs")
    await until_begun(talk, "Choose a program with /programs and its name or number:")
    await talk.until_that(lambda: bool(platform.messages(301)[-1].buttons))
    buttons = [button for row in platform.messages(301)[-1].buttons for button in row]
    assert [button["text"] for button in buttons] == ["tax", "greeter ✓"]
    platform.press(buttons[0]["callback_data"], chat=301, person=301)
    await until_begun(talk, "Here is Tax.")
    await talk.say("/programs 2")
    await until_begun(talk, "Here is Hello.")
    await talk.say("/programs nonsense")
    await until_begun(talk, "There is no program nonsense here. You can choose from: tax, greeter")
    await talk.say("/programs tax")
    await until_begun(talk, "Here is Tax.")
    running.kill()
    await running.gone()
    await running.start()
    await talk.say("still there?")
    await until_begun(talk, "Tax heard: still there?")
    await talk.say("/new")
    await until_begun(talk, "Here is Tax.")


async def test_the_table_is_shown_at_start_and_by_check(routed: tuple[Gateway, TelegramPlatform]) -> None:
    running, _ = routed
    await running.prints(rf"platform telegram, chat {GROUP} → group \(")
    await running.prints(r"/tax, to choose → tax \(")
    _, output, errors = await parley(running.data_dir, "check")
    assert "✓ programs  group, tax, web, greeter compile" in output, errors
    assert "everywhere, to choose → greeter (" in output


@pytest.mark.parametrize(
    ("toml", "error"),
    [
        ('[[route]]\nprogram = "programs/hallo.pb"', "[[route]] 1 (hallo.pb): there is no file "),
        ('[[route]]\nprogram = "programs/tax.pb"\nplatfrom = "web"', 'there is no key "platfrom"; did you mean'),
        (ROUTES + '[[route]]\nprogram = "programs/web.pb"\n', "[[route]] 5 (web.pb): it can never serve, because"),
        ('[[route]]\nprogram = "programs/broken.pb"', "broken.pb:3"),
    ],
)
async def test_a_wrong_table_is_refused_at_start_and_by_check(tmp_path: Path, toml: str, error: str) -> None:
    write(tmp_path, toml)
    (tmp_path / "programs" / "broken.pb").write_text("# Agent\n\n## Main($x: int = )\n\n### Steps\n- Do it\n")
    status, _, errors = await parley(tmp_path, "run")
    assert status == 2
    assert error in errors
    status, output, errors = await parley(tmp_path, "check")
    assert status != 0
    assert error in output + errors


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
