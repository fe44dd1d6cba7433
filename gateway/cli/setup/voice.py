"""`parley setup voice`: fetch a model that listens on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, note, plain_errors


def voice(
    size: Annotated[str, typer.Argument(help="tiny, base, small, medium, large-v3 or large-v3-turbo.")],
    config: ConfigOption = None,
) -> None:
    """Download a Whisper model to the data directory. The gateway itself downloads none."""
    from gateway.assembly.voices import whisper_folder
    from runtime.llm.whisper.models import download as fetch
    from runtime.llm.whisper.models import is_there

    with plain_errors():
        folder = whisper_folder(load_settings(config), size)
        if is_there(folder):
            note(f"{size} is already in {folder}.")
            return
        fetch(size, folder)
    note(f'{size} is in {folder}. Set it: [models] transcription = "whisper/{size}"')
