"""The language server, without an editor."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint
from lsprotocol import types
from pygls.workspace import Workspace

from gateway.cli.author.editor.server import ProgramServer

pytestmark = pytest.mark.anyio

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
