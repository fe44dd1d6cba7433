"""What VS Code's extension reads and ships, with the editor itself left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_process import ROOT, environment_of

EXTENSION = ROOT / "editors" / "vscode"
WITHOUT_THE_EDITOR = """
const Module = require("node:module");
const load = Module._load;
Module._load = (name, ...more) => (name.startsWith("vscode") ? {} : load(name, ...more));
const { quoted, resultOf, talksIn } = require(process.argv[1]);
const [text, xml, titles] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify([talksIn(text), titles.map((title) => resultOf(xml, title)), titles.map(quoted)]));
"""
TALKS = """# Talks

```
## no talk
```

## Somebody says "hi" & <more>

- Greeter writes: Hello! What is your name?
- Ada: Ada
- Greeter writes: Nice to meet you, Ada!

## It fails

- Greeter writes: Hello! What is your name?
- expect: "Goodbye"
"""


def read_by_extension(text: str, xml: str, titles: list[str]) -> Any:
    done = subprocess.run(
        ["node", "-e", WITHOUT_THE_EDITOR, str(EXTENSION / "extension.js")],
        input=json.dumps([text, xml, titles]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_the_test_view_shows_the_talks_of_a_file_and_how_each_ended(tmp_path: Path) -> None:
    (tmp_path / "hello.pb").write_text((ROOT / "examples" / "hello.pb").read_text())
    (tmp_path / "hello.test.md").write_text(TALKS)
    command = [sys.executable, "-m", "gateway", "test", "hello.test.md", "--junit", "results.xml"]
    held = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment_of(tmp_path, {}),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert held.returncode == 1, held.stdout + held.stderr
    titles = ['Somebody says "hi" & <more>', "It fails", "Nothing of the kind"]
    talks, results, _ = read_by_extension(TALKS, (tmp_path / "results.xml").read_text(), titles)
    assert talks == [{"title": titles[0], "line": 6}, {"title": titles[1], "line": 12}]
    assert results[0] == {"failure": ""}
    assert "Goodbye" in results[1]["failure"]
    assert results[2] is None


def test_a_shell_looks_for_nothing_in_the_name_of_a_file() -> None:
    names = ["a b.pb", "it's `id` $(id) $HOME.pb", 'say "hi"; id.pb']
    *_, quoted = read_by_extension("", "", names)
    said = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\n' {' '.join(quoted)}"], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.splitlines() == names


@pytest.mark.parametrize("file", ["package.json", "language.json", "syntaxes/parley.tmLanguage.json"])
def test_what_the_editor_reads_is_json(file: str) -> None:
    assert json.loads((EXTENSION / file).read_text())


def test_the_grammar_includes_only_what_it_has() -> None:
    grammar = json.loads((EXTENSION / "syntaxes" / "parley.tmLanguage.json").read_text())
    named: set[str] = set()

    def look(part: Any) -> None:
        if isinstance(part, dict):
            if str(part.get("include", "")).startswith("#"):
                named.add(part["include"][1:])
            for below in part.values():
                look(below)
        elif isinstance(part, list):
            for below in part:
                look(below)

    look(grammar)
    assert named <= grammar["repository"].keys()
    assert grammar["repository"].keys() <= named


def test_commands_of_the_code_lenses_are_commands_of_the_extension() -> None:
    known = {one["command"] for one in json.loads((EXTENSION / "package.json").read_text())["contributes"]["commands"]}
    server = (ROOT / "gateway" / "cli" / "author" / "editor" / "server.py").read_text()
    assert {name for name in known if f'"{name}"' in server} == known
