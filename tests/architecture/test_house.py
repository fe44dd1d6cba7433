"""The house: sizes, names, packages, and what may not stand in the tree."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import PACKAGES, ROOT, classes, modules, named, tracked

MAX_LINES = 400
EMPTY_NAMES = re.compile(r"utils?|managers?|helpers?|base|impl|common|misc", re.IGNORECASE)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
REGISTRY = re.compile(r"https?://[^\s\"']*(?:/simple\b|\.whl\b|\.tar\.gz\b)|--(?:extra-)?index-url|files\.pythonhosted")
PERSONAL_PATH = re.compile(r"(?<![\w.$}])/(?:home|Users)/(?!parley\b)\w+/|(?<![\w.])/root/")


def _pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_no_module_is_longer_than_the_limit() -> None:
    sizes = {named(path): len(path.read_text().splitlines()) for path in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


def test_no_module_or_class_has_a_name_that_says_nothing() -> None:
    names = [path.stem for path in modules()] + [node.name for _, node in classes()]
    assert [name for name in names if any(EMPTY_NAMES.fullmatch(word) for word in WORD.findall(name))] == []


def test_no_module_imports_the_same_name_twice() -> None:
    twice: list[str] = []
    for path in modules():
        body = ast.parse(path.read_bytes()).body
        checked = [node for one in body if isinstance(one, ast.If) for node in one.body]
        imports = [node for node in (*body, *checked) if isinstance(node, ast.Import | ast.ImportFrom)]
        names = Counter(name.asname or name.name for node in imports for name in node.names)
        twice += [f"{named(path)}: {name}" for name, count in names.items() if count > 1]
    assert twice == []


def test_every_package_says_in_one_docstring_what_it_is_and_exports_nothing() -> None:
    inits = [path for path in modules() if path.name == "__init__.py"]
    folders = {path.parent for path in modules()}
    assert folders == {path.parent for path in inits}
    wordy = [named(path) for path in inits if not re.fullmatch(r'"""[^"]+"""\n', path.read_text())]
    assert wordy == []


def test_every_package_of_the_runtime_has_its_layer() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    layers = re.findall(r'containers = \["runtime"\]\nlayers = \[(.*?)\n\]', text, re.DOTALL)[0]
    declared = set(re.findall(r"\w+", layers))
    found = {
        path.stem for path in (ROOT / "runtime").iterdir() if (path / "__init__.py").is_file() or path.stem == "bus"
    }
    assert found == declared


def test_every_top_level_package_is_in_the_wheel_under_the_linters_and_in_the_image() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    expected = ", ".join(f'"{package}"' for package in PACKAGES)
    assert f"packages = [{expected}]" in text
    assert f"root_packages = [{expected}]" in text
    image = (ROOT / "Dockerfile").read_text()
    assert [package for package in PACKAGES if f"COPY {package} " not in image] == []


def test_data_beside_the_code_is_shipped() -> None:
    """The wheel takes whole packages; only what version control ignores or the build excludes would be missing."""
    build = _pyproject()["tool"]["hatch"]["build"]  # type: ignore[index]
    assert build["targets"]["wheel"]["packages"] == list(PACKAGES)
    assert not {"exclude", "include", "only-include"} & (build.keys() | build["targets"]["wheel"].keys())
    kept = set(tracked())
    scripts = set((ROOT / "runtime" / "storage" / "redis" / "scripts").rglob("*.lua"))
    page = {path for path in (ROOT / "gateway" / "web" / "page").rglob("*") if path.suffix in {".html", ".js", ".css"}}
    assert scripts
    assert page
    assert scripts | page <= kept


def test_no_path_of_a_persons_machine_stands_in_the_tree() -> None:
    assert _places(PERSONAL_PATH, skip={Path(__file__)}) == []


def test_no_package_index_stands_in_the_tree() -> None:
    assert _places(REGISTRY, skip={Path(__file__)}) == []


def test_every_pin_has_a_hash() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text().replace("\\\n", " ")
        pins = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert len(pins) > 10
        assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin or "==" not in pin] == []


def test_only_the_settings_read_the_environment_and_the_models_process_its_own() -> None:
    readers = {named(path) for path in modules() if re.search(r"os\.(environ|getenv)", path.read_text())}
    assert readers == {
        "gateway/settings/hidden_keys.py",
        "gateway/settings/tree.py",
        "runtime/llm/worker/main.py",
    }


def _places(pattern: re.Pattern[str], skip: set[Path]) -> list[str]:
    return [
        f"{named(path)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        if path not in skip
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


WORDS_ALONE = """
Adapter Address Ask Attachment Budget Bus Call Capabilities Channel Choice Clock Commit Condition Diagnostic Divergence
End Entrance Expression Fact Feature Frame Free Happening Inbound Inbox Instruction Job Journal Jump Lease
Leave Loop Message Notebook Outbox Param Participant Program Prose Quote Records Return Role Routes Sandbox Say Set
Settings Snapshot Span Speaker Step Template Texts Think Trigger Unjournaled Usage Wait
"""
"""The words of the field, of PBAsm, and of what extensions import, which need no second one."""


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for package in ("adapters", "gateway", "runtime"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(Path(path).relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _classes() -> Iterator[tuple[str, str]]:
    for place, tree in _trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, place


def test_no_two_public_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in _classes():
        places[name].append(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_class_that_another_folder_imports_has_a_name_of_two_words_or_one_of_the_fields_own() -> None:
    short = {name: Path(place) for name, place in _classes() if re.fullmatch("[A-Z][a-z0-9]+", name)}
    abroad = {
        alias.name
        for place, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (home := short.get(alias.name))
        and node.module == ".".join(home.with_suffix("").parts)
        and home.parent != Path(place).parent
    }
    assert abroad == {*WORDS_ALONE.split()}


TESTS = Path(__file__).parents[1]
SKIPS = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|importorskip|xfail)\b")
ELSEWHERE = {"unit/runtime/storage/embedded/test_valkey.py": 1}
"""Skipped on systems without /proc."""


def test_no_test_is_skipped() -> None:
    found = {
        str(path.relative_to(TESTS)): len(SKIPS.findall(path.read_text()))
        for path in TESTS.rglob("*.py")
        if path != Path(__file__) and SKIPS.search(path.read_text())
    }
    assert found == ELSEWHERE
