"""Whisper models that are kept on this machine: which there are, where they lie, and what they may use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from runtime.core.errors import ConfigError

PREFIX: Final = "whisper/"
"""What the name of such a model begins with, in the settings."""

_GIB = 1024**3

MEMORY_BYTES: Final[Mapping[str, int]] = {
    "tiny": 2 * _GIB,
    "base": 2 * _GIB,
    "small": 3 * _GIB,
    "medium": 6 * _GIB,
    "large-v3": 10 * _GIB,
    "large-v3-turbo": 6 * _GIB,
}
"""The models by size, as faster-whisper names them, with the most memory that their process may take."""

_FILES = ("model.bin", "config.json", "tokenizer.json")


def folder_of(data_dir: Path, size: str) -> Path:
    """Where a model lies."""
    return data_dir / "whisper" / size


def is_there(folder: Path) -> bool:
    """Whether a model has been downloaded to the folder, to its end."""
    return all((folder / name).is_file() for name in _FILES)


def check_size(size: str) -> None:
    """Raise ConfigError for a model that there is not."""
    if size not in MEMORY_BYTES:
        raise ConfigError(f"There is no Whisper model {size!r}; there are: {', '.join(MEMORY_BYTES)}.")


def check_installed() -> None:
    """Raise ConfigError without the extra."""
    if find_spec("faster_whisper") is None:
        raise ConfigError("Whisper on this machine needs the extra 'voice': install parley-gateway[voice].")


def check_model(folder: Path, size: str) -> None:
    """Raise ConfigError for a model that cannot be used here."""
    check_size(size)
    check_installed()
    if not is_there(folder):
        raise ConfigError(f"The Whisper model {size} is not in {folder}. Download it once: parley setup voice {size}")


def download(size: str, folder: Path) -> None:
    """Fetch a model from the Hugging Face Hub. Raises ConfigError, also where it cannot be fetched."""
    check_size(size)
    check_installed()
    from faster_whisper import download_model  # noqa: PLC0415 - an extra, used by few

    try:
        folder.mkdir(parents=True, exist_ok=True)
        download_model(size, output_dir=str(folder))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The Whisper model {size} cannot be downloaded: {error}") from error
    if not is_there(folder):
        raise ConfigError(f"The Whisper model {size} was not downloaded to its end; try again.")
