"""Many programs in one gateway: by platform, chat and command, and chosen by people."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import Gateway, gateway, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until, until_begun
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
