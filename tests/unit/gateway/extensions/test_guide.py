"""The guide of docs/connecting/extending.md, followed to the letter: its code, its settings, its program."""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.assembly.standalone import TerminalOutput, execute
from gateway.extensions.extension import load_extensions, sections
from gateway.programs.arguments import begun_by
from gateway.settings.tree import load
from runtime.execution.frames.signatures import own_type
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from tests.architecture.source_tree import ROOT
from tests.fakes.models.openai_server import OpenAIServer, Reply

GUIDE = (ROOT / "docs" / "connecting" / "extending.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^(```+)\w*\n# (\S+\.(?:py|toml|pb))\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
FOLLOWED = ("my_ext.py", "parley.toml", "greeting.pb", "status.pb", "alarm.pb")
LISTENING = """# Host

## Main
cli_entry: true
### Steps
- Greet the user in one sentence
- Wait for the user
- End program
"""


def files_of_the_guide() -> dict[str, str]:
    """What the reader has written at the end of the guide: the blocks of each file, one after the other."""
    files: dict[str, str] = {}
    for _, name, text in BLOCK.findall(GUIDE):
        files[name] = files.get(name, "") + text
    return files


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the guide was followed, and where Parley is started."""
    files = files_of_the_guide()
    for name in FOLLOWED:
        (tmp_path / name).write_text(files[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    load_extensions.cache_clear()
    yield tmp_path
    load_extensions.cache_clear()
    sys.modules.pop("my_ext", None)


async def said_by(folder: Path, program: Path, model: str | None = None, lines: tuple[str, ...] = ()) -> str:
    """What an execution of a program shows people, with the settings of the folder."""
    left = list(lines)

    async def line() -> str | None:
        return left.pop(0) if left else None

    environment = {"PARLEY_DATA_DIR": str(folder / "state")}
    if model is not None:
        environment |= {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model, "PARLEY_MODEL_API_KEY": "none"}
    settings = load(config=folder / "parley.toml", environment=environment, directory=folder, sections=sections)
    compiled = (await compile_program([program], lowerer=RulesLowerer())).program
    out = io.StringIO()
    ended = await execute(settings, begun_by(compiled, {}), "", TerminalOutput(out, io.StringIO()), line)
    assert ended.how == "done", ended.why
    return out.getvalue()


async def test_the_call_of_the_guide_is_made_by_its_program(followed: Path) -> None:
    assert await said_by(followed, followed / "greeting.pb") == "There are 4 words\n"


async def test_channels_and_messages_are_told_to_the_functions_of_the_guide(
    followed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await said_by(followed, followed / "greeting.pb")
    told = capsys.readouterr().out.splitlines()
    assert told == ["two 2", "Desk (direct): There are 4 words"]


async def test_streams_and_what_people_say_are_told_to_the_observer_of_the_guide(
    followed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = followed / "host.pb"
    program.write_text(LISTENING)
    async with OpenAIServer([Reply("Good morning!")]) as server:
        await said_by(followed, program, server.base_url, ("hello there",))
    told = capsys.readouterr().out.splitlines()
    assert "Host begins" in told
    pieces = [line.removeprefix("piece: ") for line in told if line.startswith("piece: ")]
    assert "".join(pieces) == "Good morning!"
    assert told.index("begins") < told.index("complete")
    assert "Human (direct): hello there" in told


async def test_a_message_of_a_type_is_selected_by_the_program_of_the_guide(
    followed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await said_by(followed, followed / "status.pb") == "status_update: half done\n"
    assert "Worker (status_update): half done" in capsys.readouterr().out


async def test_an_agent_speaks_to_the_participant_of_the_guide(
    followed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await said_by(followed, followed / "alarm.pb") == "Somebody was called\n"
    assert "pager: The cellar is wet" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("given", "reason"), [("direct", "only Parley gives"), ("No name", "is a name such as"), (7, "is a name such as")]
)
def test_a_type_that_cannot_be_ones_own_is_refused(given: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        own_type(given)
