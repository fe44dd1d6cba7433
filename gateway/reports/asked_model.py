"""The model to ask about a failure: by default only one that has the words of that conversation anyway."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.llm.models import PURPOSES
from runtime.stores.operation.reports import Report
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ModelAnswered
from runtime.tape.tape import TapeReader

_FACTS_READ = 2_000
"""A session that no model has answered in so many facts counts as one without a model."""

_QUICK = PURPOSES["decide"]
_ANSWERS = frozenset({"execute", "decide"})


class AskedModel:
    """The model for each report. `wanted` True asks one about every failure, "auto" the program's own about those of
    conversations that it has answered: of several the one for choices, else the default, else another, and only one
    that has answered in that conversation."""

    def __init__(
        self,
        wanted: Literal["auto"] | bool,
        programs: Mapping[str, Program],
        routed: Mapping[str, str],
        tapes: TapeReader,
        models: Callable[[str], Collection[str]],
    ) -> None:
        """`routed` are the models of the routes, by program; `models` gives what a name of the settings may lead to, as
        conversations write down who has answered them."""
        self._models = models
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
        answered = set[str]() if program is None else await self._answered(report)
        if program is None or not answered:
            return None
        own = {str(name or self._routed.get(report.program, "")) for name in _named(program) or (None,)}
        if len(own) == 1:
            return own.pop()
        names = (name for name in (_QUICK, "", *sorted(own)) if answered & {*self._models(name)})
        return next(names, None)

    async def _answered(self, report: Report) -> set[str]:
        """The models that have answered in that conversation."""
        facts = self._tapes.read_session(SessionId(report.session), until=min(report.seq, _FACTS_READ))
        found = [answered async for fact in facts if (answered := read_as(fact, ModelAnswered)) is not None]
        return {answered.model for answered in found if answered.purpose in _ANSWERS}


def _named(program: Program) -> set[object]:
    """The models that its agents and playbooks ask, None for that of the route."""
    agents = [agent.metadata.get("model") or None for agent in program.agents]
    playbooks = [
        playbook.metadata.get("model") or agent.metadata.get("model") or None
        for agent in program.agents
        for playbook in agent.playbooks
    ]
    return {*agents, *playbooks}
