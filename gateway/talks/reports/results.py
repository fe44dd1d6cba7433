"""Results of talks: how each ended, what differs, and which steps were reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gateway.talks.checks import Difference
from gateway.talks.staging.answers import TalkRecording
from gateway.talks.staging.record import BeatRecord, StepPlace
from gateway.talks.talk import Talk
from runtime.language.program import Program


@dataclass(slots=True)
class TalkResult:
    """One talk that was held. Without differences it has passed. `seconds` are of the processor."""

    file: Path
    talk: Talk
    records: list[BeatRecord] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0
    unjudged: int = 0
    """Sentences that a judge would have to decide, and nobody did."""
    recording: TalkRecording | None = None
    """What a real model answered, where one was asked."""

    @property
    def passed(self) -> bool:
        """Whether all was as it is written."""
        return not self.differences

    @property
    def steps(self) -> set[StepPlace]:
        """The steps that were reached."""
        return {place for record in self.records for place in record.steps}


@dataclass(frozen=True, slots=True)
class Coverage:
    """The steps of a program, and those of them that no talk has reached."""

    program: Program
    reached: frozenset[StepPlace]

    @property
    def every(self) -> Sequence[tuple[StepPlace, str, str]]:
        """Each step that can be reached, with its place in the file and its text."""
        return list(self._steps())

    def _steps(self) -> Iterator[tuple[StepPlace, str, str]]:
        for agent in self.program.agents:
            for playbook in agent.playbooks:
                if not playbook.walked:
                    continue
                for step in playbook.walk_steps():
                    place = f"{step.span.file}:{step.span.line}"
                    yield (agent.name, playbook.name, step.line), place, step.text

    @property
    def missed(self) -> Sequence[tuple[StepPlace, str, str]]:
        """The steps that no talk has reached."""
        return [step for step in self.every if step[0] not in self.reached]
