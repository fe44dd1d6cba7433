"""The folder of a new program: the program with its talks, settings, and what a server needs to serve it."""

from __future__ import annotations

import getpass
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gateway.packaged import packaged

STATE = ".parley"
"""The folder for state, beside the program."""

_SETTINGS = """\
# The settings of this program. `parley new --plain` in another folder writes all keys with their defaults.
data_dir = "{state}"
{model}
[[route]]
program = "{program}"
"""

_PLATFORM = """
[{platform}]
# Who may talk: "pairing" (people whom an owner lets in), "allowlist" or "open". The first
# owner is the person who sends the code that `parley run` prints.
access = "pairing"
"""

_IGNORED = """\
{state}/
.env
"""


class ProgramTemplate(Struct, frozen=True):
    """A program to begin with, its talks beside it. `source` is its place among the examples."""

    name: str
    what: str
    source: str

    @property
    def program(self) -> Path:
        return packaged(f"examples/{self.source}.pb")

    @property
    def talks(self) -> Path:
        return packaged(f"examples/{self.source}.test.md")


TEMPLATES = (
    ProgramTemplate("support", "a support desk that looks up orders, and hands over to a human being", "order_helper"),
    ProgramTemplate("meeting", "a meeting of experts, who plan a trip", "trip_planning"),
    ProgramTemplate("standup", "a standup: three questions, every weekday at nine", "templates/standup"),
    ProgramTemplate("approval", "requests that a human being approves or rejects, by buttons", "templates/approval"),
    ProgramTemplate("reminder", "what you want to be reminded of, and when", "templates/reminder"),
    ProgramTemplate("game", "a game: guess the number", "templates/game"),
    ProgramTemplate("triage", "triage of problems with tools: known answers, tickets", "templates/triage"),
)


def new_file(name: str) -> str:
    """What a new folder gets that is the same in all, or has places in braces."""
    return (Path(__file__).parent / "new" / name).read_text(encoding="utf-8")


def template(name: str) -> ProgramTemplate | None:
    return next((one for one in TEMPLATES if one.name == name), None)


class WantedFolder(Struct, frozen=True):
    """The wishes for a new folder. `platform` is "" for the browser alone, and `secrets` are the variables that
    switch it on, perhaps with their values; `model` is "" for that of the environment."""

    template: ProgramTemplate
    platform: str = ""
    secrets: Mapping[str, str] | None = None
    model: str = ""


def files_of(wanted: WantedFolder, folder: Path) -> dict[str, str]:
    """The texts of the files by name. `.env` is there where secrets were given."""
    name, template = wanted.template.name, wanted.template
    model = f'model = "{_quoted(wanted.model)}"\n' if wanted.model else ""
    settings = _SETTINGS.format(state=STATE, model=model, program=f"{name}.pb")
    if wanted.platform:
        settings += _PLATFORM.format(platform=wanted.platform)
    example = new_file("env.example")
    given = {key: value for key, value in (wanted.secrets or {}).items() if value}
    unit = f"{re.sub(r'[^a-zA-Z0-9-]+', '-', folder.name).strip('-') or 'parley'}.service"
    files = {
        f"{name}.pb": template.program.read_text(encoding="utf-8"),
        f"{name}.test.md": template.talks.read_text(encoding="utf-8"),
        "parley.toml": settings,
        ".env.example": example + _missing(wanted.secrets or {}, example),
        ".gitignore": _IGNORED.format(state=STATE),
        "compose.yaml": new_file("compose.yaml"),
        unit: new_file("parley.service").format(
            unit=unit, name=unit.removesuffix(".service"), user=getpass.getuser(), folder=folder, parley=_parley()
        ),
    }
    return files | ({".env": "".join(f"{key}={value}\n" for key, value in given.items())} if given else {})


def made(template: ProgramTemplate) -> str:
    """Make a program for the browser where Parley runs, in a folder of the template's name; how to open it. Raises
    OSError, also when there is such a folder."""
    where = Path(template.name).absolute()
    where.mkdir()
    for name, text in files_of(WantedFolder(template, "", {}, ""), where).items():
        (where / name).write_text(text, encoding="utf-8")
    parley = "parley" if shutil.which("parley") else _parley()
    return f"{parley} dev {shlex.quote(str(where))} --open"


def _missing(secrets: Mapping[str, str], said: str) -> str:
    """A place for each secret that the example does not have."""
    return "".join(f"\n#{name}=\n" for name in secrets if name not in said)


def _parley() -> str:
    beside = Path(sys.executable).with_name("parley")
    return str(beside) if beside.exists() else f"{sys.executable} -m gateway"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
