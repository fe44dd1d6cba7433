"""The pages for newcomers, followed to the letter: their programs are understood, their talks are held and their
commands do what is said of them; with a model, and with talks in its place.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import anyio
import pytest

from tests.e2e.example_models import script
from tests.e2e.gateway_process import ROOT, START_LIMIT_S, environment_of, gateway, parley
from tests.e2e.talks import TelegramTalk, WebTalk, until
from tests.e2e.warm_starts import parley_command
from tests.fakes.models.answers import Prompt, Rules, answer_with
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.telegram.platform import PERSON, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PAGE, TUTORIAL, README, COOKBOOK = (
    (ROOT / name).read_text()
    for name in ("docs/getting-started.md", "docs/tutorial.md", "README.md", "docs/cookbook.md")
)
GUIDES = Path(__file__).parent / "guides"
"""A talk with each program of the tutorial and of the README."""

RECIPES = re.findall(r"^\| \[\w+\.pb\]\(\.\./(examples/\S+)\.pb\)", COOKBOOK, re.MULTILINE)
"""The programs of the cookbook, without an ending."""

EXACT = ("hello", "templates/triage", "templates/standup", "templates/approval", "weather")
"""Those whose first talk needs no model: what is understood are the person's own words."""


def blocks(kind: str, page: str = PAGE) -> list[str]:
    """The page's blocks of this kind."""
    return [str(text) for _, text in re.findall(rf"^(`{{3,4}}){kind}\n(.*?)^\1$", page, re.MULTILINE | re.DOTALL)]


def programs() -> dict[str, str]:
    """The programs of the pages, by their files' names without an ending."""
    parts = {f"tutorial-{number}": program for number, program in enumerate(blocks("markdown", TUTORIAL), 1)}
    return {"pizza": blocks("markdown")[0], "greeter": blocks("markdown", README)[0], **parts}


def written(folder: Path) -> None:
    """Save what the pages say is to be saved, and a talk beside each program."""
    for name, program in programs().items():
        talks = blocks("markdown")[1] if name == "pizza" else (GUIDES / f"{name}.test.md").read_text()
        (folder / f"{name}.pb").write_text(program)
        (folder / f"{name}.test.md").write_text(talks)


def commands(page: str) -> list[str]:
    """What the page has one type behind `parley`, or behind `make run`."""
    found = [
        re.match(r"(?:\.venv/bin/parley|make run) (.+?)(?:  +#.*)?$", one)
        for one in "".join(blocks("sh", page)).splitlines()
    ]
    return [one[1] for one in found if one is not None]


def talk() -> Iterator[tuple[bool, str]]:
    """The talk of the page: whether the person says it, and what."""
    for line in blocks("text")[0].splitlines():
        who, _, text = line.partition(": ")
        yield who == "You", text


def pizza(prompt: Prompt) -> str:
    return answer_with(pizza="Hawaii" if "Hawaii" in prompt.heard else "Funghi")


MODEL: Rules = {
    "say: .*which pizza they want": "Which one would you like?",
    "understand: .*which pizza they want": pizza,
    "say: .*do not have that one": "I am sorry, we do not have that one.",
    "say: .*whether the order is right": "Is that right?",
    "understand: .*whether the order is right": answer_with(right=True),
}


async def test_the_page_for_newcomers_followed_to_the_letter(tmp_path: Path) -> None:
    (tmp_path / "pizza.pb").write_text(programs()["pizza"])
    assert commands(PAGE) == [
        *("compile pizza.pb --explain", "check", "PROGRAM=pizza.pb"),
        *("test pizza.pb", "chat pizza.pb --model scripted", "PROGRAM=pizza.pb"),
    ]
    status, explained, _ = await parley(tmp_path, *commands(PAGE)[0].split())
    assert status == 0
    assert "Call PriceOf(pizza=$pizza)" in explained
    platform = TelegramPlatform()
    async with OpenAIServer(script(MODEL)) as model, serving(platform) as address:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
        }
        async with gateway(tmp_path, tmp_path / "pizza.pb", environment, fresh=True) as running:
            (code,) = await running.prints(r"telegram .*owner: (\S+)")
            person = TelegramTalk(platform, chat=PERSON)
            await person.say(code[1])
            await person.until_that(lambda: len(person.texts()) == 1)
            shown = person.texts()
            await person.say("/start")
            for said, text in talk():
                if said:
                    await person.say(text)
                else:
                    shown.append(text)
                    await until(person, *shown)


async def chat(folder: Path, *lines: str, until: str = "") -> list[str]:
    """What `parley chat` prints with these lines as its input. It ends with them, or by Ctrl-C once it has printed
    `until`.
    """
    command = parley_command(commands(PAGE)[4].split(), environment := environment_of(folder, {}))
    printed = b""
    with anyio.fail_after(START_LIMIT_S):
        async with await anyio.open_process(command, cwd=folder, env=environment) as running:
            assert running.stdin
            assert running.stdout
            assert running.stderr
            await running.stdin.send("".join(f"{line}\n" for line in lines).encode())
            if not until:
                await running.stdin.aclose()
            async for piece in running.stdout:
                printed += piece
                if until and until.encode() in printed:
                    running.send_signal(signal.SIGINT)
            told = b"".join([piece async for piece in running.stderr])
    goes_on = "The talk goes on" if until else "The program has ended. A message begins it anew"
    assert (running.returncode, told.decode().strip()) == (
        0,
        f"Starting …\n\nGoodbye. {goes_on} with: parley chat pizza.pb --model scripted",
    )
    return printed.decode().splitlines()


async def test_the_talk_of_the_page_is_held_in_the_terminal_without_a_model_and_goes_on_after_ctrl_c(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    said, seen = [text for mine, text in talk() if mine], [f"Pizzeria: {text}" for mine, text in talk() if not mine]
    status, told, _ = await parley(tmp_path, "test")
    assert (status, told.count("✓")) == (0, 7), told
    assert await chat(tmp_path, *said[:2], until=seen[-2]) == seen[:-1]
    went_on = await chat(tmp_path, said[2])
    assert [line for line in went_on if not line.startswith("You: ")] == seen
    [_, _, listed, followed] = commands(TUTORIAL)
    status, table, _ = await parley(tmp_path, *listed.split())
    session = table.splitlines()[1].split()[0]
    status, steps, _ = await parley(tmp_path, *followed.replace("SESSION", session).split())
    assert (status, "PriceOf" in steps) == (0, True), steps


async def test_the_programs_of_the_tutorial_the_readme_and_the_cookbook_are_talked_with_without_a_model(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    talks = {name: GUIDES / f"{name}.test.md" for name in programs() if name != "pizza"}
    talks |= {f"examples/{name}": ROOT / f"examples/{name}.test.md" for name in EXACT}
    for name in talks:
        (tmp_path / f"{name}.test.md").unlink()
    routes = [f'[[route]]\nprogram = "{name}.pb"\nchannel = "{Path(name).name}"\n' for name in talks]
    (tmp_path / "parley.toml").write_text("".join(routes))
    options = ["--model", "scripted", "--port", "0"]
    async with gateway(tmp_path, tmp_path, command="dev", options=options) as running, AsyncExitStack() as stack:
        for number, (name, file) in enumerate(talks.items()):
            person = WebTalk(Path(name).name, f"Ada {number}")  # one person may say only so much at once
            await person.look(running, stack)
            await person.say("/start")
            shown = 0
            for who, text in first_talk(file):
                if who == "Ada":
                    await person.say(text)
                if who in ("Ada", "model"):
                    continue
                shown += 1
                await person.until_that(partial(_stands, person, shown, "" if who.endswith(" writes") else text))


async def test_the_programs_of_the_tutorial_and_the_readme_are_talked_with_by_a_model_behind_a_key(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    names = [name for name in programs() if name != "pizza"]
    routes = [f'[[route]]\nprogram = "{name}.pb"\nchannel = "{name}"\n' for name in names]
    (tmp_path / "parley.toml").write_text("".join(routes))
    async with OpenAIServer() as model, AsyncExitStack() as stack:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "key",
        }
        running = await stack.enter_async_context(
            gateway(tmp_path, tmp_path, environment, command="dev", options=["--port", "0"])
        )
        for number, name in enumerate(names):
            words = first_talk(GUIDES / f"{name}.test.md")
            model.add(*(Reply(text) for who, text in words if who == "model" or who.endswith(" writes")))
            person = WebTalk(name, f"Ada {number}")
            await person.look(running, stack)
            await person.say("/start")
            shown = 0
            for who, text in words:
                if who == "Ada":
                    await person.say(text)
                elif who != "model":
                    shown += 1
                    await person.until_that(partial(_stands, person, shown, text))
        assert model.headers[-1]["authorization"] == "Bearer key"


async def test_the_programs_of_the_cookbook_are_valid_and_their_talks_are_held(tmp_path: Path) -> None:
    assert len(RECIPES) >= 17
    assert {f"examples/{name}" for name in EXACT} <= set(RECIPES)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name in RECIPES:
        status, told, more = await parley(tmp_path, "check", f"{name}.pb")
        assert (status, more) == (0, ""), (name, told, more)
        assert re.fullmatch(rf"✓ {name}\.pb: valid\. .+\n", told), told
    assert "`parley test examples`" in COOKBOOK
    status, told, more = await parley(tmp_path, "test", "examples")
    assert (status, more) == (0, ""), (told, more)
    assert [name for name in RECIPES if f"✓ {name}.test.md:" not in told] == []


async def test_make_runs_the_program_of_the_readme_and_its_other_lines_are_those_tried_here_and_with_parley_new() -> (
    None
):
    told = [one for one in commands(README) if one.strip()]
    assert told == ["PROGRAM=greeter.pb", "chat greeter.pb", "dev greeter.pb", "test", "new"]
    dry = await anyio.run_process(["make", "--dry-run", "--no-print-directory", "run", told[0]], cwd=ROOT)
    assert dry.stdout.decode().splitlines()[-1] == "exec .venv/bin/parley run greeter.pb"


def first_talk(file: Path) -> list[tuple[str, str]]:
    """Who says what in the first talk of a file, as far as no time passes, after what begins it."""
    part = file.read_text().split("\n## ")[1].partition("- wait")[0].replace("Ada presses ", "Ada: ")
    part = re.sub(r"^(.+\n\n)- Ada: .+\n", r"\1", part)
    found = re.findall(r"^- (model|[A-Z]\w+(?: writes)?): (.+(?:\n  .+)*)$", part, re.MULTILINE)
    return [(who, text.replace("\n  ", "\n")) for who, text in found]


def _stands(person: WebTalk, count: int, text: str) -> bool:
    """Whether the so-manieth text is this one; "" stands for the step's own words in brackets."""
    texts = person.texts()
    pattern = re.escape(text or "[…]").replace("…", ".*")
    return len(texts) == count and re.fullmatch(pattern, texts[-1], re.DOTALL) is not None
