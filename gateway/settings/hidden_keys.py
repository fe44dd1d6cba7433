"""The keys of model providers, out of the gateway's reach.

A key in the environment can be read in /proc for as long as the process lives, and is copied into its memory. So
`parley run` begins by writing each into a file without a name and starting itself again, in the same process, without
them: what runs then has open files that it hands to the model's process and does not read.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runtime.core.errors import ConfigError

DOTENV_VARIABLE = "PARLEY_DOTENV"

OUR_KEY = "PARLEY_MODEL_API_KEY"

_HANDED = "_PARLEY_HIDDEN_KEYS"
"""The variable that says, after the restart, which open file holds which key, and for which process."""

_SECRET = re.compile(
    r"(?!PARLEY_)\w*_API_KEY|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|AWS_BEARER_TOKEN_BEDROCK|HF_TOKEN"
)


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


def hide_keys() -> None:
    """Restart this process without providers' keys if its environment or its .env has any; else return."""
    if os.name != "posix" or hidden_keys():
        return
    found = {**_in_dotenv(dotenv_file(Path(), os.environ)), **os.environ}
    # Both ways of naming the key are an error, which `load` tells.
    wanted = {name for name in found if _SECRET.fullmatch(name) or (name == OUR_KEY and f"{OUR_KEY}_FILE" not in found)}
    files = {name: _unnamed_file(found[name]) for name in sorted(wanted) if found[name]}
    if not files:
        return
    kept = {name: value for name, value in os.environ.items() if name not in files}
    kept[_HANDED] = json.dumps({"process": os.getpid(), "files": files})
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)


def hidden_keys(environment: Mapping[str, str] | None = None) -> dict[str, int]:
    handed = json.loads((os.environ if environment is None else environment).get(_HANDED) or "{}")
    files: dict[str, int] = handed["files"] if handed.get("process") == os.getpid() else {}
    return files


def own_environment(*, with_keys: bool) -> dict[str, str]:
    """This process's environment for another of ours: with the keys that are hidden from this one, if that asks models
    and hides them too.
    """
    kept = {name: value for name, value in os.environ.items() if name != _HANDED}
    return kept | ({name: read_key(file) for name, file in hidden_keys().items()} if with_keys else {})


def read_key(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode()


def _in_dotenv(path: Path) -> dict[str, str]:
    try:
        if "_API_KEY" not in path.read_text(encoding="utf-8"):
            return {}
        return {name: value for name, value in dotenv_variables(path).items() if value}
    except (OSError, UnicodeDecodeError, ConfigError):  # `load` says what is wrong with it
        return {}


def _unnamed_file(text: str) -> int:
    """A file with the text that stays open over the restart and has no name by which it could be opened."""
    if sys.platform == "linux":
        file = os.memfd_create("key", 0)
    else:
        with tempfile.TemporaryFile() as opened:
            file = os.dup(opened.fileno())
    os.write(file, text.encode())
    os.set_inheritable(file, True)
    return file
