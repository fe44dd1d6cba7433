"""Calls as simcord takes them, and choices as people see them."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import simcord.http.routes  # noqa: F401 - importing it registers the routes
from msgspec import Struct
from simcord.backend import Backend
from simcord.http import router


class Upload(Struct, frozen=True):
    """A file within a call."""

    name: str
    data: bytes


def handing_to(
    backend: Backend, method: str, path: str, files: Sequence[Upload] = ()
) -> Callable[[Any, Mapping[str, str]], Any]:
    """How a call is handed to simcord."""
    return lambda body, query: router.dispatch(
        backend, method, path, json=body, params=dict(query), files=[_Opened(file) for file in files]
    )


class _Opened:
    """An upload as simcord reads it."""

    description = None

    def __init__(self, file: Upload) -> None:
        self.filename = file.name
        self.fp = io.BytesIO(file.data)


def choices_of(components: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The labels of buttons and options, in order."""
    found: list[str] = []
    for row in components:
        for each in row["components"]:
            found += [option["label"] for option in each["options"]] if "options" in each else [each["label"]]
    return tuple(found)
