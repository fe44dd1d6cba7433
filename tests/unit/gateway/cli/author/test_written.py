"""What authors are told while they write: by `parley fmt`, by `parley dev`, and in an editor."""

from pathlib import Path

import anyio
import pytest
import typer
from anyio.lowlevel import checkpoint
from lsprotocol import types
from pygls.workspace import Workspace
from typer.testing import CliRunner

from gateway.cli.author.dev import entered
from gateway.cli.author.editor.analysis import Analysis, NotRenamed, analyse
from gateway.cli.author.editor.server import ProgramServer
from gateway.cli.commands import app
from runtime.language.diagnostics import Span

LOOSE, NEAT = "#  A\nHello.  \n", "# A\nHello.\n"
ROOT = Path(__file__).parents[5]


def fmt(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["fmt", *map(str, words)])
    return result.exit_code, result.output


def test_a_folder_is_laid_out_but_not_what_is_hidden_in_it(tmp_path: Path) -> None:
    loose = [tmp_path / "a.pb", tmp_path / "deep" / "b.playbooks"]
    others = [tmp_path / ".venv" / "c.pb", tmp_path / "node_modules" / "d.pb", tmp_path / "README.md"]
    for path in (*loose, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_text(LOOSE)
    code, said = fmt(tmp_path)
    assert (code, said.splitlines()[-1]) == (0, "2 files formatted; 0 files unchanged.")
    assert [path.read_text() for path in loose] == [NEAT, NEAT]
    assert {path.read_text() for path in others} == {LOOSE}
    assert fmt(tmp_path)[1] == "0 files formatted; 2 files unchanged.\n"


def test_check_changes_nothing_and_says_what_is_not_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "part.md"
    path.write_text(LOOSE)
    code, said = fmt("--check", path)
    assert (code, said) == (1, f"not formatted  {path}\n1 file to format; 0 files unchanged.\n")
    assert path.read_text() == LOOSE


def test_a_wrong_file_stays_and_the_others_are_laid_out(tmp_path: Path) -> None:
    odd, compiled, binary, good = (tmp_path / name for name in ("a.pb", "b.pbasm", "c.pb", "d.pb"))
    odd.write_text("#  A\n```python\n")
    compiled.write_text(LOOSE)
    binary.write_bytes(b"\xff\xfe#  A")
    good.write_text(LOOSE)
    code, said = fmt(odd, compiled, binary, good)
    assert code == 2
    assert "never closed" in said
    assert "not UTF-8" in said
    assert (odd.read_text(), compiled.read_text(), good.read_text()) == ("#  A\n```python\n", LOOSE, NEAT)


def test_a_link_and_the_rights_of_a_file_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "greet.pb", tmp_path / "link.pb"
    target.write_text(f"#!/usr/bin/env -S parley exec\n{LOOSE}")
    target.chmod(0o755)
    link.symlink_to(target)
    assert fmt(link)[0] == 0
    assert link.is_symlink()
    assert target.read_text().endswith(NEAT)
    assert target.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("folder", ["examples", "evals"])
def test_the_programs_that_people_copy_are_laid_out(folder: str) -> None:
    code, said = fmt("--check", ROOT / folder)
    assert code == 0, said


@pytest.mark.parametrize(
    ("given", "files"), [("game", []), ("game/game.pb", ["game.pb"]), ("", []), ("x.pb", ["x.pb"])]
)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_folder_or_a_file_is_gone_into_however_it_is_named(
    given: str, files: list[str], absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game").mkdir()
    for name in ("game/game.pb", "x.pb"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / given
    assert entered(folder if absolute else Path(given)) == [Path(name) for name in files]
    assert Path.cwd() == (folder if folder.is_dir() else folder.parent)


def test_what_there_is_not_is_refused_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "game.pb").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit):
        entered(Path("gmae.pb"))
    assert "Did you mean game.pb?" in capsys.readouterr().err


FILE = Path("/programs/shop.pb")
TEXT = '''# Shop
You sell things.

```python
@playbook
async def PriceOf(thing: str) -> int:
    """What a thing costs."""
    return {"cup": 3}[thing]
```

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the $thing:str
- $price:int = PriceOf(thing=$thing)
- Say "{$thing} costs {price} euros."
- $when:str = Courier.Deliver(thing=$thing)
- End program

# Courier
You bring things.

## public: Deliver($thing:str) -> str
### Steps
- Return "tomorrow"
'''


@pytest.fixture
async def shop() -> Analysis:
    return await analyse(TEXT, FILE)


def at(part: str, nth: int = 0, within: int = 1) -> tuple[int, int]:
    """The position in the middle of the nth appearance of a part."""
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(part, start + 1)
    line = TEXT.count("\n", 0, start)
    return line, start - (TEXT.rfind("\n", 0, start) + 1) + within


async def test_a_good_program_has_no_complaints_and_an_outline(shop: Analysis) -> None:
    assert shop.complaints == []
    outline = [(one.name, [(inner.name, inner.detail) for inner in one.inner]) for one in shop.outline()]
    assert outline == [
        ("Shop", [("PriceOf", "python"), ("Main", "Main()")]),
        ("Courier", [("Deliver", "Deliver($thing:str) -> str")]),
    ]


async def test_parts_of_the_outline_do_not_overlap_and_end_with_the_text(shop: Analysis) -> None:
    first, second = shop.outline()
    assert (first.line, first.last_line + 1) == (0, second.line)
    assert second.last_line == len(shop.rows) - 1


async def test_what_is_wrong_is_said_at_its_place_while_it_is_written() -> None:
    complaints = (await analyse(TEXT.replace("PriceOf(thing=$thing)", "PriecOf(thing=$thing)"), FILE)).complaints
    assert [(one.span.line, one.severity) for one in complaints] == [(16, "error")]
    assert "PriceOf" in complaints[0].message + complaints[0].hint
    broken = await analyse(TEXT.replace("### Triggers\n", "### Trigers\n"), FILE)
    assert broken.complaints


async def test_a_step_says_what_it_means(shop: Analysis) -> None:
    line, _ = at("Ask the user")
    said = shop.meaning(line, 0) or ""
    assert "`01:QUE`" in said
    assert "Wait for the user" in said


async def test_a_name_says_what_it_is(shop: Analysis) -> None:
    assert "PriceOf(thing:str) -> int" in (shop.meaning(*at("PriceOf", 1)) or "")
    assert "You bring things." in (shop.meaning(*at("Courier")) or "")
    assert shop.meaning(1, 2) is None


async def test_definitions_lead_to_playbooks_agents_and_the_first_use_of_variables(shop: Analysis) -> None:
    assert shop.definition(*at("PriceOf", 1)) == Span(str(FILE), 6)
    found = shop.definition(*at("Deliver"))
    assert isinstance(found, Span)
    assert found.line == 24
    first = shop.definition(*at("$thing", 1, 2))
    assert first is not None
    assert first.line == at("$thing")[0]
    assert shop.definition(1, 1) is None


async def test_a_variable_is_renamed_in_its_agent_also_in_braces(shop: Analysis) -> None:
    places = shop.renamed(*at("$price"), "cost")
    assert [shop.rows[one.line][one.start : one.end] for one in places] == ["price", "price"]
    others = shop.renamed(*at("$thing"), "item")
    assert {one.line for one in others} <= set(range(at("# Courier")[0]))
    assert len(others) == 4


@pytest.mark.parametrize(
    ("place", "new", "why"),
    [
        (at("Ask"), "x", "Only variables"),
        (at("$price"), "two words", "is not a name"),
        (at("$price"), "thing", "has a variable"),
        (at("$thing", 4), "item", "is a parameter of Deliver"),
    ],
)
async def test_what_cannot_be_renamed_says_why(shop: Analysis, place: tuple[int, int], new: str, why: str) -> None:
    with pytest.raises(NotRenamed, match=why):
        shop.renamed(*place, new)


async def test_suggestions_are_variables_behind_a_dollar_and_else_what_can_be_called(shop: Analysis) -> None:
    line, character = at("Say ")
    behind = await analyse(TEXT.replace('Say "{$thing}', 'Say $t "{$thing}'), FILE)
    assert {one.text for one in behind.suggestions(line, character + 5)} == {"$thing", "$price", "$when"}
    calls = {one.text for one in shop.suggestions(line, 2)}
    assert {"PriceOf", "Courier", "Courier.Deliver", "Ask", "Ask the user "} <= calls


@pytest.mark.parametrize("text", ["", "\n\n", "# ", "## Main\n", "\ud800", "- $", "```", "#" * 5000, "- a\n" * 2000])
async def test_a_text_of_any_kind_is_analysed(text: str) -> None:
    found = await analyse(text, FILE)
    for line in (0, 1, 10_000):
        found.meaning(line, 3)
        found.definition(line, 3)
        found.references(line, 3)
        found.suggestions(line, 3)
    found.outline()


URI = "file:///hello.pb"
BEFORE = "# Greeter\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Tell the user hello\n"


async def test_what_is_known_of_a_text_that_changes_while_it_is_analysed_is_not_what_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = Workspace(None, types.TextDocumentSyncKind.Full)
    workspace.put_text_document(types.TextDocumentItem(URI, "parley", 1, BEFORE))
    monkeypatch.setattr(ProgramServer, "workspace", workspace)
    server = ProgramServer()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.analysis, URI)
        await checkpoint()
        after = types.TextDocumentContentChangeWholeDocument(BEFORE.replace("hello", "goodbye"))
        workspace.update_text_document(types.VersionedTextDocumentIdentifier(2, URI), after)
    assert "- Tell the user goodbye" in (await server.analysis(URI)).rows
