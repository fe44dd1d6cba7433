"""What the documents say is so, and the site has every page."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

from adapters import adapter
from runtime.language.vocabulary.phrase import ENTRIES
from tests.architecture.source_tree import ROOT, modules
from tests.fakes.observing.happenings import KINDS

DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])
WORDS = (
    *("platform", "adapter", "conversation", "session", "program", "playbook", "step", "agent", "participant"),
    *("channel", "message", "stream", "meeting", "tape", "event", "outbox", "node"),
)


MOST_WORDS = 80_000
MOST_WORDS_OF_A_PAGE = 3_000


def test_the_documents_are_short_enough_to_be_read() -> None:
    words = {str(page.relative_to(ROOT)): len(page.read_text().split()) for page in DOCS if page.parent != ROOT}
    assert sum(words.values()) <= MOST_WORDS
    assert {page for page, count in words.items() if count > MOST_WORDS_OF_A_PAGE} == set()


def test_glossary_has_every_word_once() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs" / "reference" / "glossary.md").read_text(), re.MULTILINE)
    words = [word for row in rows for word in row.split(", ")]
    assert sorted(words) == sorted(set(words))
    assert set(WORDS) <= set(words)


def test_verbs_in_the_reference_are_those_of_the_vocabulary() -> None:
    shown = (ROOT / "docs" / "reference" / "steps.md").read_text(encoding="utf-8")
    for name in ("tell", "tell if named", "propose", "ask always", "ask if object", "think", "work"):
        notation = ENTRIES[name].notation
        while (without := re.sub(r"\([^()]+\)", "#", notation)) != notation:  # words of groups are no verbs
            notation = without
        plain = (one.strip() for one in notation.split(" | "))
        words = ", ".join(one for one in plain if re.fullmatch(r"[a-z -]+", one))
        assert f"| {ENTRIES[name].about.rstrip('.')} | {words} |" in shown


@pytest.mark.parametrize("document", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", re.sub(r"`[^`\n]+`", "", document.read_text()))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def _decided(page: Path) -> list[int]:
    """The numbers of the decisions on a page."""
    return [int(number) for number in re.findall(r"^##? (\d+)\. ", page.read_text(), re.MULTILINE)]


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [number for page in (ROOT / "docs" / "decisions").iterdir() for number in _decided(page)]
    assert len(numbers) == len(set(numbers)) > 90


def test_a_link_to_a_decision_leads_to_the_page_that_has_its_number() -> None:
    found = [
        (document, int(number), document.parent / page)
        for document in DOCS
        for number, page in re.findall(r"\[(?:decision\s+)?(\d+)\]\(([^)#]+\.md)\)", document.read_text())
    ]
    assert len(found) > 40
    assert [(str(document), number) for document, number, page in found if number not in _decided(page)] == []


@pytest.mark.parametrize("document", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_in_the_documents_exist(document: Path) -> None:
    goals = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", document.read_text(), re.MULTILINE)) <= goals


def test_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


FILES = [
    f"/{path.relative_to(ROOT)}"
    for folder in ("adapters", "benchmarks", "evals", "examples", "gateway", "parley", "runtime", "scripts", "tests")
    for path in (ROOT / folder).rglob("*.py")
]


@pytest.mark.parametrize("document", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_files_named_by_the_documents_exist(document: Path) -> None:
    """A test without a directory is one of those of sessions, as the journal says."""
    wrong: list[str] = []
    for name in re.findall(r"`(?:python )?([\w/]+\.py)`", document.read_text()):
        found = [path for path in FILES if path.endswith(f"/{name}")]
        if name.startswith("test_"):
            found = [path for path in found if path.startswith("/tests/unit/runtime/sessions/")]
        wrong += [name] if not found or (name.startswith("test_") and len(found) > 1) else []
    assert wrong == []


def test_modules_named_by_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "inside" / "architecture.md").read_text()
    paths = re.findall(r"`((?:gateway|adapters|runtime)/[\w/]+(?:\.py)?/?)`", text)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def _drawn_rooms() -> dict[str, list[set[str]]]:
    """The rooms of each package in the drawing of the architecture, line by line."""
    drawing = (ROOT / "docs" / "inside" / "architecture.md").read_text().split("```")[1]
    found: dict[str, list[set[str]]] = {}
    for line in drawing.strip("\n").splitlines():
        if not line.startswith("─"):
            package = line[:11].strip()
            rooms = found.setdefault(package or next(reversed(found)), [])
            rooms.append(set(re.split(r" · ", line[11:73].strip())))
    return found


def test_the_drawing_of_the_architecture_shows_every_room_in_the_order_of_the_layers() -> None:
    drawn = _drawn_rooms()
    for package in ("gateway", "adapters", "runtime"):
        folders = {each.parent.name for each in (ROOT / package).glob("*/__init__.py")}
        alone = {"bus"} if package == "runtime" else set[str]()  # a layer that is one module
        assert set[str]().union(*drawn[package]) == folders | alone
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {contract["containers"][0]: contract["layers"] for contract in contracts if "containers" in contract}
    for package in ("adapters", "runtime"):
        assert drawn[package] == [set(layer.split(" | ")) for layer in layers[package]]


def _documented() -> dict[str, str]:
    """Each event in the table of the document, with its level there."""
    text = (ROOT / "docs" / "reference" / "logging.md").read_text()
    rows = re.findall(r"^\| (`[^|]+`) \| ([a-z, ]+) \|", text, re.MULTILINE)
    found: dict[str, str] = {}
    for names, levels in rows:
        events, each = re.findall(r"`([a-z]+\.[a-z_]+)`", names), levels.split(", ")
        found |= zip(events, each * len(events) if len(each) == 1 else each, strict=True)
    return found


def test_events_in_the_code_are_those_of_the_document_at_their_levels() -> None:
    assert _documented() == {name: kind.level for name, kind in KINDS.items()}


def test_every_kind_of_event_is_made_somewhere() -> None:
    made = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for path in modules()
        if path.parent != ROOT / "runtime" / "events"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert {kind.__name__ for kind in KINDS.values()} <= made


SITE = runpy.run_path(str(ROOT / "scripts" / "build_site.py"))
pages = SITE["pages"]


def test_every_page_is_in_the_menu_of_the_site_once() -> None:
    listed = list(pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    paths = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    written = {str(path) for path in paths if path.parts[0] != "decisions"}
    assert sorted(listed) == sorted({*written, "decisions/index.md"})


def test_llms_txt_names_every_page_of_the_menu_with_its_title_and_first_sentence(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    SITE["copy_pages"](tmp_path / "docs")
    lines = SITE["llms_text"](project, tmp_path / "docs").splitlines()
    entries = [re.fullmatch(r"- \[(.+)\]\((.+)\.html\): (.*)", line) for line in lines if line.startswith("- ")]
    assert [found and f"{found[2]}.md" for found in entries] == list(pages(project["nav"]))
    said = {found[2]: found[3] for found in entries if found is not None}
    assert said["running/speed"].startswith("`make bench` prints every figure beside its floor")


def test_the_search_of_the_site_leaves_out_the_sources_that_pages_link_to(tmp_path: Path) -> None:
    SITE["copy_pages"](tmp_path / "docs")
    sources = sorted((tmp_path / "docs" / "source").rglob("*.md"))
    assert len(sources) > 20
    assert [page for page in sources if not page.read_text().startswith("---\nsearch:\n  exclude: true\n---\n# ")] == []


def test_an_installation_says_first_how_much_it_is_and_how_long_it_takes() -> None:
    wanted = ["make", "--dry-run", "--always-make", ".venv/.installed"]
    recipe = subprocess.run(wanted, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    [told] = [line for line in recipe.splitlines() if line.startswith("echo")]
    said = subprocess.run(["sh", "-c", told], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    pins = sum("==" in line for line in (ROOT / "requirements.txt").read_text().splitlines())
    assert said.startswith(f"Installing what Parley needs: {pins} packages, some ")
    assert "minutes" in said


GUIDE = (ROOT / "docs" / "connecting" / "adding-a-platform.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "tests" / "fakes" / "platforms" / "minimal_adapter.py").read_text(encoding="utf-8")


def test_examples_stand_in_the_minimal_adapter_to_the_letter() -> None:
    examples = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert len(examples) >= 4
    assert [example for example in examples if example not in EXAMPLE] == []


def test_the_minimal_adapter_stays_about_a_hundred_lines() -> None:
    assert len(EXAMPLE.splitlines()) <= 130


def test_every_protocol_of_the_port_is_named_in_the_guide() -> None:
    protocols = [name for name in vars(adapter) if re.match(r"(Can|Counts|Answers|Holds|Hears)[A-Z]", name)]
    assert len(protocols) > 10
    assert [name for name in protocols if f"`{name}`" not in GUIDE] == []
