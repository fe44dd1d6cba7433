"""The language server and VS Code's extension as editors meet them, with the editor itself left out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from tests.e2e.gateway_process import ROOT, environment_of

pytestmark = pytest.mark.anyio

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


TEXT = """# Shop
You sell things.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the $thing:str
- Say "One {$thing}."
- End program
"""
LIMIT_S = 60


class Editor(LanguageClient):
    """An editor that keeps the newest complaints about each text."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.complaints: dict[str, list[types.Diagnostic]] = {}
        self.news = anyio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.complaints[params.uri] = list(params.diagnostics)
            self.news.set()
            self.news = anyio.Event()

    async def open(self, file: Path, text: str) -> str:
        """Open a text and wait for what is said of it; its address."""
        document = types.TextDocumentItem(file.as_uri(), "parley", 1, text)
        return await self._told(
            document.uri, lambda: self.text_document_did_open(types.DidOpenTextDocumentParams(document))
        )

    async def change(self, uri: str, version: int, text: str) -> None:
        """Replace a text and wait for what is said of it."""
        changed = types.VersionedTextDocumentIdentifier(version, uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        await self._told(
            uri, lambda: self.text_document_did_change(types.DidChangeTextDocumentParams(changed, [whole]))
        )

    async def _told(self, uri: str, act: object) -> str:
        news = self.news
        act()  # type: ignore[operator]
        with anyio.fail_after(LIMIT_S):
            await news.wait()
        return uri


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncGenerator[Editor]:
    client = Editor()
    await client.start_io(
        sys.executable, "-m", "gateway", "lsp", "--stdio", env=environment_of(tmp_path, {}), cwd=str(tmp_path)
    )
    with anyio.fail_after(LIMIT_S):
        await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    yield client
    with anyio.fail_after(LIMIT_S):
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]


async def test_a_session_from_the_first_complaint_to_a_new_name(editor: Editor, tmp_path: Path) -> None:
    uri = await editor.open(tmp_path / "shop.pb", TEXT.replace("### Steps", "### Stesp"))
    assert editor.complaints[uri]
    await editor.change(uri, 2, TEXT)
    assert editor.complaints[uri] == []
    document = types.TextDocumentIdentifier(uri)
    variable = types.Position(7, 25)
    with anyio.fail_after(LIMIT_S):
        said = await editor.text_document_hover_async(types.HoverParams(document, types.Position(7, 0)))
        assert said is not None
        assert isinstance(said.contents, types.MarkupContent)
        assert "01:QUE" in said.contents.value
        outline = await editor.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert [one.name for one in outline or []] == ["Shop"]
        edit = await editor.text_document_rename_async(types.RenameParams(document, variable, "item"))
        assert edit is not None
        assert [change.range.start.line for change in (edit.changes or {})[uri]] == [7, 8]
        lenses = await editor.text_document_code_lens_async(types.CodeLensParams(document))
        assert [one.command.title for one in lenses or [] if one.command] == ["Run", "Debug", "Run tests"]
        whole = types.Range(types.Position(0, 0), types.Position(20, 0))
        hints = await editor.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
        assert ("02", 8) in [(one.label, one.position.line) for one in hints or []]
        with pytest.raises(JsonRpcException, match="Only variables"):
            await editor.text_document_rename_async(types.RenameParams(document, types.Position(0, 3), "x"))


async def test_names_are_known_while_a_text_has_an_error_and_texts_are_laid_out(editor: Editor, tmp_path: Path) -> None:
    uri = await editor.open(tmp_path / "shop.pb", TEXT)
    await editor.change(uri, 2, TEXT.replace("- End program", "- End program\n## Other($)\n"))
    assert editor.complaints[uri]
    with anyio.fail_after(LIMIT_S):
        found = await editor.text_document_completion_async(
            types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(9, 2))
        )
    assert isinstance(found, list)
    assert "Main" in [one.label for one in found]
    odd = '- Say "\U0001f600\U0001f600 {$thing} $thing."'
    uri = await editor.open(tmp_path / "smile.pb", TEXT.replace('- Say "One {$thing}."', odd + " $other"))
    assert [one.range.start.character for one in editor.complaints[uri] if "other" in one.message] == [30]
    place = types.Position(8, 13)
    with anyio.fail_after(LIMIT_S):
        document = types.TextDocumentIdentifier(uri)
        there = await editor.text_document_definition_async(types.DefinitionParams(document, place))
        assert isinstance(there, types.Location)
        assert (there.range.start.line, there.range.start.character) == (7, 24)
        uses = await editor.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(True), document, place)
        )
        assert [(one.range.start.line, one.range.start.character) for one in uses or []] == [(7, 24), (8, 14), (8, 22)]
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    uri = await editor.open(tmp_path / "loose.pb", TEXT.replace("- Ask", "*  Ask").replace("## Main", "##  Main"))
    talks = await editor.open(tmp_path / "loose.test.md", "* Ada: Tea\n* Shop: One.\n")
    odd = await editor.open(tmp_path / "odd.pb", "#  A\n```python\n")
    with anyio.fail_after(LIMIT_S):
        answers = [
            await editor.text_document_formatting_async(
                types.DocumentFormattingParams(types.TextDocumentIdentifier(one), options)
            )
            for one in (uri, talks, odd)
        ]
    assert [[edit.new_text for edit in edits or []] for edits in answers] == [
        [TEXT],
        ["- Ada: Tea\n- Shop: One.\n"],
        [],
    ]
