"""The order for the process of a task: one line of JSON on its standard input, no argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from gateway.isolation.forms import CalledExtension, Form
from gateway.version import VERSION
from runtime.execution.calls.remote import ToolRules

PATH: Final = "/tape/v1/session"
"""Where the web server takes the connections of tasks' processes."""

OVER: Final = 0
"""The exit code of a process when nothing is left to do now."""

FENCED: Final = 3
"""The exit code when the shard is another node's."""

CUT_OFF: Final = 4
"""The exit code when the node has gone."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """The limits that the process sets for itself before it executes anything.

    `readable` may be read besides Python's own files. Where `jailed` is False, whoever has started it has set them.
    """

    jailed: bool
    readable: tuple[str, ...]
    memory_bytes: int
    cpu_s: int
    open_files: int


@dataclass(frozen=True, slots=True)
class ProgramHandover:
    """The program of the task, compiled, and what its node's settings say of it. `calls` are those of extensions;
    `told` is how many memories a model is told at once, 0 where the program has none, and `reads` says whether files
    are read as they come."""

    name: str
    pbasm: str
    model: str
    busy: Literal["queue", "steer", "interrupt"]
    calls: tuple[CalledExtension, ...] = ()
    told: int = 0
    reads: bool = False


@dataclass(frozen=True, slots=True)
class Manner:
    """The settings of the node that sessions need, none of them secret. `models` are the names of the models, and what
    people call them; `places` the conversations that may be told of results, each as `address_data` writes it; `tools`
    says which tools people are asked for. Whether one may be called the node decides."""

    texts: Mapping[str, str]
    language: str
    idle_s: float
    transcript_chars: int
    questions_alone: bool
    models: Mapping[str, str]
    model_answer_s: float
    limits: tuple[int, int, float, int, float]
    places: Mapping[str, list[str | None]]
    seen: bool
    statement_s: float
    statement_bytes: int
    jail_required: bool
    log_level: Literal["debug", "info", "warning", "error"]
    tools: ToolRules = field(default_factory=ToolRules)


@dataclass(frozen=True, slots=True)
class Handover:
    """Everything that the process knows at its start. `token` proves who it is to the node at `url`, for this task and
    under the lease of the shard whose token is `epoch`. `version` is the node's, which has to be the process's own.
    `host` is what the node is called where `url` leads to it by another address, else ""."""

    url: str
    token: str
    conversation: str
    shard: int
    epoch: int
    program: ProgramHandover
    manner: Manner
    confinement: Confinement
    version: str = VERSION
    host: str = ""

    def __repr__(self) -> str:
        return f"Handover({self.conversation!r})"


HANDOVER: Form[Handover] = Form(Handover)
