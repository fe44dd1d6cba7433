"""A Lua script of ours, and its name on the server."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """The text and its SHA-1, by which EVALSHA finds it."""

    text: str
    digest: str


def load_script(name: str, package: str = "runtime.storage.redis") -> Script:
    """The script `scripts/<name>.lua` of a package; a name has a folder where several scripts serve one store."""
    text = files(package).joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
