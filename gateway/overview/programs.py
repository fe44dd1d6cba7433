"""`GET /bus/v1/programs`: the programs that are served, with their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer
from gateway.feature import FeatureDoor
from runtime.language.diagnostics import Span
from runtime.language.program import AgentSpec, Program

MAX_TEXT_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class ProgramRoutes:
    """The requests about programs."""

    door: FeatureDoor
    programs: Mapping[str, Program]

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/programs", self.some, methods=["GET"]),
            Route("/programs/{program}", self.look, methods=["GET"]),
        ]

    async def some(self, request: Request) -> Response:
        """The programs by name, with their agents and playbooks."""
        self.door.reader(request)
        return answer({"programs": [_about(program) for _, program in sorted(self.programs.items())]})

    async def look(self, request: Request) -> Response:
        """One program, with the texts of its files: an author's words, so `content` is needed."""
        client = self.door.reader(request)
        program = self.programs.get(str(request.path_params["program"]))
        if program is None:
            raise HTTPException(404, "There is no such program.")
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        files = dict.fromkeys(span.file for agent in program.agents for span in _spans(agent))
        texts = [await run_sync(_file, file) for file in files]
        return answer({**_about(program), "files": texts})


def _spans(agent: AgentSpec) -> list[Span]:
    return [agent.span, *(playbook.span for playbook in agent.playbooks)]


def _about(program: Program) -> dict[str, Any]:
    return {
        "program": program.name,
        "digest": program.digest,
        "agents": [
            {
                "class": agent.name,
                "kind": agent.kind.value,
                "file": Path(agent.span.file).name,
                "playbooks": [
                    {
                        "name": playbook.name,
                        "kind": playbook.kind,
                        "public": playbook.public,
                        "file": Path(playbook.span.file).name,
                        "line": playbook.span.line,
                    }
                    for playbook in agent.playbooks
                ],
            }
            for agent in program.agents
        ],
    }


def _file(file: str) -> dict[str, str]:
    return {"name": Path(file).name, "path": str(Path(file).absolute()), "text": _text(file)}


def _text(file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MAX_TEXT_BYTES).decode(errors="replace")
    except OSError:
        return ""
