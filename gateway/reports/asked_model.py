"""Which model is asked about a failure: by itself only one that has the words of that conversation anyway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.operation.reports import Report
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ModelAnswered
from runtime.tape.tape import TapeReader

_FACTS_READ = 2_000
"""A session that no model has answered in so many facts counts as one without a model."""

_ANSWERS = frozenset({"execute", "decide"})


class AskedModel:
    """The model for each report. `wanted` True asks one about every failure, "auto" the program's own about those of
    conversations that it has answered."""

    def __init__(
        self,
        wanted: Literal["auto"] | bool,
        programs: Mapping[str, Program],
        routed: Mapping[str, str],
        tapes: TapeReader,
    ) -> None:
        """`routed` are the models of the routes, by program."""
        self._wanted = wanted
        self._programs = programs
        self._routed = routed
        self._tapes = tapes

    async def of(self, report: Report) -> str | None:
        """The name of the model in the settings, "" for the default; None where none is asked. Raises
        StorageUnavailable, ArchiveUnavailable and ContentLocked."""
        if not report.session or self._wanted is False:
            return None
        if self._wanted is True:
            return ""
        program = self._programs.get(report.program)
        named = set() if program is None else _named(program)
        if program is None or len(named) > 1 or not await self._has_answered(report):
            return None
        return str(next(iter(named), None) or self._routed.get(report.program, ""))

    async def _has_answered(self, report: Report) -> bool:
        facts = self._tapes.read_session(SessionId(report.session), until=min(report.seq, _FACTS_READ))
        async for fact in facts:
            answered = read_as(fact, ModelAnswered)
            if answered is not None and answered.purpose in _ANSWERS:
                return True
        return False


def _named(program: Program) -> set[object]:
    """The models that its agents and playbooks ask, None for that of the route."""
    agents = [agent.metadata.get("model") or None for agent in program.agents]
    playbooks = [
        playbook.metadata.get("model") or agent.metadata.get("model") or None
        for agent in program.agents
        for playbook in agent.playbooks
    ]
    return {*agents, *playbooks}
