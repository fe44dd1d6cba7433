"""The file with secrets that is no part of the repository: .env in the working directory, or the one that is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.core.errors import ConfigError

DOTENV_VARIABLE = "PARLEY_DOTENV"


def dotenv_file(directory: Path, environment: Mapping[str, str]) -> Path:
    """Where the variables are, whether there is such a file or not; what is no file, such as /dev/null, has none."""
    return directory / Path(environment.get(DOTENV_VARIABLE) or ".env").expanduser()


def dotenv_variables(path: Path) -> dict[str, str]:
    """The variables of a .env file, taken literally; none when there is no such file. Raises ConfigError."""
    from dotenv import dotenv_values  # noqa: PLC0415 - most have no such file, and this runs before all else

    try:
        if not path.is_file():
            return {}
        found = dotenv_values(path, interpolate=False, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}). Let the user that runs Parley read it, or where its variables "
            f"come by the environment, as in a container, set {DOTENV_VARIABLE}=/dev/null."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8: {error.reason} at byte {error.start}.") from error
    return {name: value for name, value in found.items() if value is not None}
