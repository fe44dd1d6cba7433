"""The language server: an editor's requests over standard input and output, answered from analyses of its texts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from gateway.cli.author.editor.analysis import Analysis, EditorPlace, NotRenamed, OutlineEntry, analyse
from gateway.cli.author.fmt import laid_out
from gateway.version import VERSION
from runtime.core.errors import ParleyError
from runtime.language.diagnostics import Diagnostic, Span

_KINDS = {
    "variable": types.CompletionItemKind.Variable,
    "call": types.CompletionItemKind.Function,
    "agent": types.CompletionItemKind.Class,
    "step": types.CompletionItemKind.Snippet,
}


class ProgramServer(LanguageServer):
    """Keeps an analysis of each open text, and the last one that had a program."""

    def __init__(self, calls: Collection[str] = ()) -> None:
        super().__init__("parley", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._calls = calls
        self._analyses: dict[str, Analysis] = {}
        self._versions: dict[str, int | None] = {}

    async def analysis(self, uri: str) -> Analysis:
        """The analysis of a text as it is now; while it has errors, names are those of the last program."""
        document = self.workspace.get_text_document(uri)
        version = document.version  # the text may change while it is analysed
        if uri in self._analyses and self._versions.get(uri) == version:
            return self._analyses[uri]
        found = await analyse(document.source, _path(document), self._calls)
        before = self._analyses.get(uri)
        if found.result is None and before is not None:
            found = Analysis(found.file, found.rows, found.complaints, before.result, {})
        self._analyses[uri], self._versions[uri] = found, version
        return found

    async def spot(self, params: Any) -> tuple[str, Analysis, tuple[int, int]]:
        """A text, its analysis, and the line and the number of characters before the position of a request, which
        editors count in other units."""
        uri = params.text_document.uri
        analysis, codec = await self.analysis(uri), self.workspace.get_text_document(uri).position_codec
        found = codec.position_from_client_units(list(analysis.rows), params.position)
        return uri, analysis, (found.line, found.character)

    def range(self, analysis: Analysis, uri: str, place: EditorPlace) -> types.Range:
        codec, rows = self.workspace.get_text_document(uri).position_codec, list(analysis.rows)
        ends = (types.Position(place.line, character) for character in (place.start, place.end))
        return types.Range(*(codec.position_to_client_units(rows, end) for end in ends))

    def forget(self, uri: str) -> None:
        self._analyses.pop(uri, None)
        self._versions.pop(uri, None)


def build_server(calls: Collection[str] = ()) -> ProgramServer:
    """The server with all it can do; start it with `start_io`. `calls` are those of extensions."""
    server = ProgramServer(calls)
    for offer in (_texts, _names, _lists, _layouts):
        offer(server)
    return server


def _texts(server: ProgramServer) -> None:

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        await _publish(server, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await _publish(server, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _names(server: ProgramServer) -> None:

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        _, analysis, at = await server.spot(params)
        said = analysis.meaning(*at)
        return None if said is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, said))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        uri, analysis, at = await server.spot(params)
        found = analysis.definition(*at)
        if found is None:
            return None
        if isinstance(found, EditorPlace):
            return types.Location(uri, server.range(analysis, uri, found))
        where = types.Position(found.line - 1, found.column - 1)
        return types.Location(from_fs_path(str(Path.cwd() / found.file)) or uri, types.Range(where, where))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location]:
        uri, analysis, at = await server.spot(params)
        found = analysis.references(*at)
        return [types.Location(uri, server.range(analysis, uri, one)) for one in found]

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        uri, analysis, at = await server.spot(params)
        try:
            places = analysis.renamed(*at, params.new_name)
        except NotRenamed as error:
            raise JsonRpcInvalidParams(str(error)) from error
        new = params.new_name.removeprefix("$")
        edits = [types.TextEdit(server.range(analysis, uri, place), new) for place in places]
        return types.WorkspaceEdit(changes={uri: edits})


def _lists(server: ProgramServer) -> None:

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return [
            _symbol(one, types.SymbolKind.Class) for one in (await server.analysis(params.text_document.uri)).outline()
        ]

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["$", "."]))
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        _, analysis, at = await server.spot(params)
        found = analysis.suggestions(*at)
        return [types.CompletionItem(one.text, kind=_KINDS[one.kind], detail=one.detail or None) for one in found]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        document = server.workspace.get_text_document(params.text_document.uri)
        top = types.Range(types.Position(0, 0), types.Position(0, 0))
        commands = [("Run", "parley.run"), ("Debug", "parley.debug"), ("Run tests", "parley.test")]
        program = [str(_path(document))]
        return [types.CodeLens(top, types.Command(title, name, arguments=program)) for title, name in commands]

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        uri = params.text_document.uri
        analysis = await server.analysis(uri)
        shown = range(params.range.start.line, params.range.end.line + 1)
        return [
            types.InlayHint(
                server.range(analysis, uri, EditorPlace(line, 0, len(analysis.rows[line]))).end,
                " ".join(number.partition(":")[0] for number, _ in steps),
                padding_left=True,
            )
            for line, steps in analysis.meanings.items()
            if line in shown and line < len(analysis.rows)
        ]


def _layouts(server: ProgramServer) -> None:
    """A text laid out; nothing changes where that cannot be done, which the complaints explain."""

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def formatted(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            new = await laid_out(_path(document), document.source.encode("utf-8"))
        except ParleyError:
            return []
        end = types.Position(len(document.lines), 0)
        return [] if new == document.source else [types.TextEdit(types.Range(types.Position(0, 0), end), new)]


async def _publish(server: ProgramServer, uri: str) -> None:
    analysis = await server.analysis(uri)
    here = [one for one in analysis.complaints if one.span.file == analysis.file]
    elsewhere = [one for one in analysis.complaints if one.span.file != analysis.file]
    here += [  # at the top of this file
        Diagnostic(f"{one.span}: {one.message}", Span("", 1), hint=one.hint, severity=one.severity)
        for one in elsewhere[:1]
    ]
    told = [_complaint(one, server.range(analysis, uri, _place(one))) for one in here]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, told))


def _complaint(one: Diagnostic, where: types.Range) -> types.Diagnostic:
    severity = {"error": types.DiagnosticSeverity.Error, "note": types.DiagnosticSeverity.Information}.get(
        one.severity, types.DiagnosticSeverity.Warning
    )
    text = f"{one.message}\n{one.hint}" if one.hint else one.message
    return types.Diagnostic(where, text, severity, source="parley")


def _place(one: Diagnostic) -> EditorPlace:
    return EditorPlace(one.span.line - 1, one.span.column - 1, one.as_json()["end_column"] - 1)


def _symbol(entry: OutlineEntry, kind: types.SymbolKind) -> types.DocumentSymbol:
    whole = types.Range(types.Position(entry.line, 0), types.Position(entry.last_line + 1, 0))
    heading = types.Range(types.Position(entry.line, 0), types.Position(entry.line, 0))
    inner = [_symbol(one, types.SymbolKind.Method) for one in entry.inner]
    return types.DocumentSymbol(entry.name, kind, whole, heading, detail=entry.detail, children=inner)


def _path(document: TextDocument) -> Path:
    """The file of a text; one that was never saved counts as a file of its name in the working directory."""
    return Path(to_fs_path(document.uri) or document.filename or "untitled.pb")
