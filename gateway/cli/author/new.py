"""`parley new`: a folder with a program that works, asked for step by step or by options."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from gateway.cli.output.terminal import BAD_INPUT, FAILED, load_settings, note, plain_errors, say
from runtime.core.near_names import name_advice

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gateway.dev.folder import ProgramTemplate
    from gateway.extensions.extension import ExtensionPlatform
    from gateway.talks.results import TalkResult

_BROWSER = "browser"
_LIMIT_S = 30.0


def section_example(platform: ExtensionPlatform) -> str:
    """The platform's section of parley.toml, each key with its default behind a `#`."""
    lines = ["", f"[{platform.name}]"]
    lines += [f"# {line}".rstrip() for line in (inspect.getdoc(platform.settings) or "").splitlines()]
    for name, field in platform.settings.model_fields.items():
        if not _is_secret(field):
            lines.append(f"#{name} = {_as_toml(field.get_default(call_default_factory=True))}")
    return "\n".join(lines) + "\n"


def secrets_example(platform: ExtensionPlatform) -> str:
    from gateway.settings.sources import variable_name

    names = [name for name, field in platform.settings.model_fields.items() if _is_secret(field)]
    return "".join(f"\n#{variable_name(f'{platform.name}.{name}')}=\n" for name in names)


def _is_secret(field: FieldInfo) -> bool:
    from pydantic import SecretStr

    return SecretStr in get_args(field.annotation)


def _as_toml(value: Any) -> str:
    if value is None:
        return '""'
    return json.dumps(value if isinstance(value, bool | int | float | str | list | tuple) else str(value))


def write_plain(directory: Path) -> None:
    """Write parley.toml with every setting, .env.example and a first program; nothing is overwritten."""
    from gateway.dev.folder import new_file
    from gateway.extensions.extension import load_extensions
    from gateway.packaged import packaged

    with plain_errors():
        platforms = load_extensions(()).platforms.values()
    config = packaged("config/parley.toml").read_text(encoding="utf-8")
    files = {
        "parley.toml": config + "".join(map(section_example, platforms)),
        ".env.example": new_file("env.example") + "".join(map(secrets_example, platforms)),
        "hello.pb": packaged("examples/hello.pb").read_text(encoding="utf-8"),
    }
    _written(directory, files, "directory")
    say_next(directory)
    say("  cp .env.example .env    then put your model's key in it")
    say("  parley check            check that everything is in place")
    say("  parley run hello.pb     talk with it in the browser")


def say_next(folder: Path) -> None:
    """Begin the list of what comes next: the way to the folder, and to the command where the terminal has none."""
    say("\nNext:")
    command = Path(sys.executable).with_name("parley")
    if shutil.which(command.name) is None and command.exists():
        say(f'  export PATH="{command.parent}:$PATH"')
    if folder != Path():
        say(f"  cd {folder}")


def write_new(path: Path, text: str, *, mode: int = 0o666) -> bool:
    """Write a file that is not there, and say so; whether it was written. Raises OSError."""
    try:
        with open(path, "x", encoding="utf-8", opener=partial(os.open, mode=mode)) as file:
            file.write(text)
    except FileExistsError:
        say(f"kept     {path} (exists)")
        return False
    say(f"written  {path}")
    return True


def new(
    folder: Annotated[Path | None, typer.Argument(help="The folder to write; created if it does not exist.")] = None,
    template: Annotated[
        str | None, typer.Option(help="support, meeting, standup, approval, reminder, game or triage.")
    ] = None,
    platform: Annotated[str | None, typer.Option(help="Where people talk: browser, or a platform's name.")] = None,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; use defaults for missing options.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Write only a parley.toml with every setting, .env.example and hello.pb.")
    ] = False,
) -> None:
    """Create a folder with a program, its tests, its settings, and the files that a server needs. Then run one talk."""
    if plain:
        write_plain(folder or Path())
        return
    from gateway.catalog import catalog
    from gateway.dev.folder import WantedFolder, files_of
    from gateway.settings.tree import Settings

    asks = not yes and sys.stdin is not None and sys.stdin.isatty()
    switches = {name: kind.switch for name, kind in catalog(Settings()).items()}
    chosen = _template(template, asks=asks)
    place = _platform(platform, switches, asks=asks)
    names = re.findall(r"PARLEY_\w+", switches.get(place, ""))
    secrets = {name: _secret(name) if asks else "" for name in names}
    if model is None:
        model = _asked_model() if asks else ""
    where = folder or Path(typer.prompt("Folder", default=chosen.name) if asks else chosen.name)
    other = next((path.name for path in sorted(where.glob("*.pb")) if path.stem != chosen.name), None)
    if other is not None:
        note(f"parley: {where} has a program already, {other}. Choose another folder: parley new FOLDER.")
        raise typer.Exit(BAD_INPUT)
    wanted = WantedFolder(chosen, place, secrets, model)
    written = _written(where, files_of(wanted, where.absolute()))
    if ".env" not in written:
        secrets = {}
    if f"{chosen.name}.pb" in written:
        _prove(where / f"{chosen.name}.test.md")
    _next(where, place, names, secrets)


def _template(name: str | None, *, asks: bool) -> ProgramTemplate:
    from gateway.dev.folder import TEMPLATES, template

    if name is None and asks:
        say("What do you want to start with?")
        for number, one in enumerate(TEMPLATES, 1):
            say(f"  {number}  {one.name:<9} {one.what}")
        name = _chosen("Number or name", [one.name for one in TEMPLATES])
    found = template(name or TEMPLATES[0].name)
    if found is None:
        note(f"parley: there is no template {name}; {name_advice(name or '', [one.name for one in TEMPLATES])}")
        raise typer.Exit(BAD_INPUT)
    return found


def _platform(name: str | None, switches: Mapping[str, str], *, asks: bool) -> str:
    """The platform; "" for the browser alone, which is always there."""
    known = [_BROWSER, *switches]
    if name is None and asks:
        say("Where do people talk with it? The browser is always included.")
        for number, one in enumerate(known, 1):
            say(f"  {number}  {one}")
        name = _chosen("Number or name", known)
    if name is not None and name not in known:
        note(f"parley: there is no platform {name}; {name_advice(name, known)}")
        raise typer.Exit(BAD_INPUT)
    return "" if name in (None, _BROWSER) else name or ""


def _chosen(question: str, names: Sequence[str]) -> str:
    while True:
        answer = str(typer.prompt(question, default="1")).strip().lower()
        if answer in names:
            return answer
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        say(f"Write a number from 1 to {len(names)}, or a name.")


def _secret(name: str) -> str:
    return str(typer.prompt(f"{name} (Enter: later)", default="", show_default=False, hide_input=True)).strip()


def _asked_model() -> str:
    say("Which language model? Use litellm's name, such as openai/gpt-4.1-mini or ollama_chat/qwen3.")
    return str(
        typer.prompt("Model (Enter: that of your provider's key, else an Ollama)", default="", show_default=False)
    ).strip()


def _written(folder: Path, files: Mapping[str, str], called: str = "folder") -> list[str]:
    """Write what is not there; the names of what was written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [
            name
            for name, text in files.items()
            if write_new(folder / name, text, mode=0o600 if name == ".env" else 0o666)
        ]
    except OSError as error:
        note(f"parley: {folder} cannot be written ({error.strerror}); choose another {called}.")
        raise typer.Exit(FAILED) from error
    if not written:
        say(f"\nAll of it was there already: nothing in {folder} was changed.")
    return written


def _prove(talks: Path) -> None:
    """Hold the program's first talk here, with a model that follows the script, and show it."""
    say()
    result = _held(talks)
    _show(result)
    if not result.passed:
        note("parley: the program does not do what its talk expects; parley test says more.")
        raise typer.Exit(FAILED)


def _held(talks: Path) -> TalkResult:
    import asyncio

    from gateway.talks.running import TalkLoader, hold_talk
    from gateway.talks.staging.stage import open_stage
    from runtime.execution.frames.loop import FrameLoop

    async def hold() -> TalkResult:
        loaded = await TalkLoader().load(talks)
        async with open_stage(load_settings(None)) as stage:
            return await hold_talk(loaded, loaded.talks[0], stage, limit_s=_LIMIT_S)

    with plain_errors(), asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(hold())


def _show(result: TalkResult) -> None:
    from gateway.talks.talk import PersonLine, PressedChoice

    say(f"A first talk, with prepared model answers ({result.talk.title}):")
    for beat, record in zip(result.talk.beats, result.records, strict=False):
        if isinstance(beat.act, PersonLine):
            say(f"  {beat.act.who}: {beat.act.text}")
        elif isinstance(beat.act, PressedChoice):
            say(f"  {beat.act.who} presses {beat.act.label}")
        for message in record.seen:
            first, *more = message.text.splitlines() or [""]
            say(f"  {message.who}: {first}")
            for line in more:
                say(f"    {line}")


def _next(folder: Path, platform: str, names: Sequence[str], secrets: Mapping[str, str]) -> None:
    say_next(folder)
    missing = [name for name in names if not secrets.get(name)]
    if missing:
        copy = "cp .env.example .env    then" if not (folder / ".env").exists() else "in .env,"
        say(f"  {copy} put {' and '.join(missing)} in it (docs/chats/{platform}.md)")
    say("  parley check            check that everything is in place")
    say("  parley dev              talk with it in the browser while you change it (--model scripted: without a model)")
    say("  parley test             run its talks")
    say("  parley run              serve it; compose.yaml and the .service file do that on a server")
