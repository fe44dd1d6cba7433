"""`parley lsp`: the language server for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.assembly.checking import extension_names
from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors
from runtime.core.errors import NotInstalled, ParleyError

_NEEDED = 'The language server needs one more package: pip install "parley-gateway[lsp]", or pip install pygls.'


def lsp(
    config: ConfigOption = None,
    _stdio: Annotated[bool, typer.Option("--stdio", help="Accepted from editors, without effect.")] = False,
) -> None:
    """Serve an editor over standard input and output, until it ends."""
    with plain_errors():
        try:
            from gateway.cli.author.editor.server import build_server
        except ModuleNotFoundError as error:
            if error.name not in ("pygls", "lsprotocol"):
                raise
            raise NotInstalled(_NEEDED) from error
        try:
            calls = extension_names(load_settings(config))
        except ParleyError:  # programs can be written where settings are wrong
            calls = ()
        build_server(calls).start_io()
