"""Every command that the documentation names is one that Parley takes, with its options."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from gateway.cli.commands import OLD_NAMES, app

ROOT = Path(__file__).parents[2]
PAGES = sorted({*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"} - {*(ROOT / "docs" / "decisions").iterdir()})

COMMANDS = Path("gateway/cli/commands.py")
"""Where the old names are listed."""

PARLEY = get_command(app)
WrongUse: Any = typer.BadParameter.__base__
"""The error of everything that a command line can have wrong; Typer gives it no name of its own."""

_FENCED = re.compile(r"^ *(`{3,4})(\w*)\n(.*?)^ *\1", re.MULTILINE | re.DOTALL)
_IN_LINE = re.compile(r"`(parley [^`\n]+)`")
_BEFORE = re.compile(r"^(?:(?:export )?[A-Z_]+=\S+ )*\S*?(?=parley )")
_NO_COMMAND = re.compile(r"[…\[{|]|\$\(")
"""Marks of a line that stands for several commands, or needs a shell to be read."""

_LEFT_OUT = re.compile(r"requires an argument|Missing argument|does not exist")
"""What is said of commands whose arguments the reader adds, and of files that are theirs."""


def commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text()
        found = [line for _, kind, block in _FENCED.findall(text) if kind in ("", "sh") for line in block.splitlines()]
        for line in [*found, *_IN_LINE.findall(_FENCED.sub("", text))]:
            command = _BEFORE.sub("", line.strip())
            if command.startswith("parley ") and not _NO_COMMAND.search(command):
                yield str(page.relative_to(ROOT)), re.split(r"  #| > | & ", command)[0]


def refusal(command: str) -> str:
    """What Parley says against the command; "" if nothing."""
    part: Any = PARLEY
    _, *words = shlex.split(command, comments=True)
    while words and not words[0].startswith("-") and hasattr(part, "commands"):
        name = words.pop(0)
        if name not in part.commands:
            return f"no command {name}"
        part = part.commands[name]
    if not words:
        return ""  # the name of a command, in a sentence
    try:
        part.make_context(command, words).close()  # lets go of what options have set
    except typer.Exit:  # after --help
        return ""
    except WrongUse as error:
        return "" if _LEFT_OUT.search(error.format_message()) else error.format_message()
    return ""


def test_each_command_of_the_documentation_is_taken() -> None:
    named = list(commands())
    assert len(named) > 150
    assert {(page, command, said) for page, command in named if (said := refusal(command))} == set()


def test_no_text_names_a_command_by_its_old_name() -> None:
    old = re.compile(rf"(?<![\w.])parley ({'|'.join(OLD_NAMES)})(?![\w-])")
    files = [Path(name) for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()]
    texts = {
        str(file): (ROOT / file).read_text(encoding="utf-8", errors="ignore")
        for file in files
        if (ROOT / file).is_file() and file.parts[0] != "tests" and file != COMMANDS
    }
    assert len(texts) > 1000
    assert {(name, found[0]) for name, text in texts.items() if (found := old.search(text))} == set()


def test_a_command_that_is_not_there_is_found() -> None:
    assert refusal("parley rnu") == "no command rnu"
    assert "--prot" in refusal("parley run --prot 3")
    assert refusal("parley run hello.pb --port 8421") == ""
