"""The deterministic lowerer: offline, instant, and it says what it did not recognise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtime.language import phrases
from runtime.language.classifier import Classifier
from runtime.language.first_use import FirstUses, result_type
from runtime.language.instruction import Instruction
from runtime.language.lowering import Lowered, LoweringReport, Unclassified
from runtime.language.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.pbasm import coded_trigger, number_notes, write_agent
from runtime.language.problems import Problems
from runtime.language.program import AgentSpec, Op, PlaybookSpec, Step, Trigger
from runtime.language.reach import Reach
from runtime.language.step_lines import given_steps
from runtime.language.trigger_words import trigger_kind

_VERSION = 12
_CONTROL = frozenset({Op.CND, Op.YLD, Op.JMP, Op.RET, Op.CHK})


class RulesLowerer:
    """Lowers by patterns of English. Each step of the source is one line, so that its author finds it by counting."""

    @property
    def fingerprint(self) -> str:
        """Changes when the rules do."""
        return f"rules-{_VERSION}"

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> Lowered:
        """The PBAsm of `source`, one of the agents of `program`."""
        notes: list[Unclassified] = []
        problems = Problems()
        reach = Reach(source, program)
        results = _results(source, reach)
        meetings = tuple(playbook.name for playbook in source.playbooks if _is_meeting(playbook))
        playbooks = tuple(
            _playbook(
                playbook,
                _StepLowering(playbook, _classifier(playbook, reach, meetings), notes),
                results,
                problems,
            )
            for playbook in source.playbooks
        )
        problems.stop_if_any()
        spec = AgentSpec(
            source.name, source.kind, source.span, source.description, source.metadata, playbooks, source.fences
        )
        return Lowered(write_agent(spec), LoweringReport(tuple(notes)))


def _playbook(
    playbook: ParsedPlaybook, lowering: _StepLowering, results: Mapping[str, str], problems: Problems
) -> PlaybookSpec:
    return PlaybookSpec(
        playbook.name,
        playbook.kind,
        playbook.span,
        playbook.params,
        playbook.returns,
        playbook.description,
        playbook.metadata,
        _triggers(playbook.triggers),
        _steps(playbook, lowering, results, problems),
        number_notes(playbook.notes),
    )


def _steps(
    playbook: ParsedPlaybook, lowering: _StepLowering, results: Mapping[str, str], problems: Problems
) -> tuple[Step, ...]:
    """The steps; those of a playbook that is PBAsm already are read as such."""
    given = given_steps(playbook.steps, problems)
    if given is not None:
        return given
    uses = FirstUses(frozenset(param.name for param in playbook.params), results)
    return uses.typed(lowering.lower_all(playbook.steps, ""))


def _results(agent: ParsedAgent, reach: Reach) -> Mapping[str, str]:
    """The types of what playbooks give, as this agent calls them."""
    own = {playbook.name: result_type(playbook.returns) for playbook in agent.playbooks}
    theirs = {
        f"{other.name}.{playbook.name}": result_type(playbook.returns)
        for other in reach.others
        for playbook in other.playbooks
    }
    return {**theirs, **own}


def _triggers(items: Sequence[ListItem]) -> tuple[Trigger, ...]:
    """The triggers with their codes; where two have the same they are numbered anew."""
    triggers = [
        coded_trigger(item) or Trigger(f"T{number}", trigger_kind(item.text), item.text, item.span)
        for number, item in enumerate(items, 1)
    ]
    if len({trigger.code for trigger in triggers}) < len(triggers):
        triggers = [replace(trigger, code=f"T{number}") for number, trigger in enumerate(triggers, 1)]
    return tuple(triggers)


def _classifier(playbook: ParsedPlaybook, reach: Reach, meetings: tuple[str, ...]) -> Classifier:
    others = tuple(name for name in meetings if name != playbook.name)
    return Classifier(reach, meetings=others, meeting=_is_meeting(playbook))


def _is_meeting(playbook: ParsedPlaybook) -> bool:
    return playbook.metadata.get("meeting") is True


class _StepLowering:
    def __init__(self, playbook: ParsedPlaybook, classifier: Classifier, notes: list[Unclassified]) -> None:
        self._playbook = playbook.name
        self._meeting = _is_meeting(playbook)
        self._lines = {_line("", number) for number in range(1, len(playbook.steps) + 1)}
        self._classifier = classifier
        self._notes = notes

    def lower_all(self, items: Sequence[ListItem], parent: str) -> tuple[Step, ...]:
        return tuple(self._lower(item, _line(parent, number)) for number, item in enumerate(items, 1))

    def _lower(self, item: ListItem, line: str) -> Step:
        found = self._classifier.classify(item.text)
        if item.children and item.text.rstrip().endswith(":") and self._takes_details(found, item):
            item = replace(item, text=f"{item.text} {_details(item)}", children=())
            found = self._classifier.classify(item.text)
        if found.op is Op.JMP and found.text.partition(" ")[0] not in self._lines:
            found = Instruction(Op.EXE, item.text, known=False)
        if not found.known:
            self._notes.append(Unclassified(self._playbook, line, item.text, item.span, item.shown))
        children = self.lower_all(_below(item, found), line)
        if found.loop and children and not _leaves(children[-1]):
            children += (Step(_line(line, len(children) + 1), Op.JMP, line, item.span),)
        return Step(line, found.op, self._waiting(found, children), item.span, children)

    def _takes_details(self, found: Instruction, item: ListItem) -> bool:
        """Whether what is listed below "…:" belongs to the sentence: what to say or think about, or mere nouns."""
        below = [self._classifier.classify(inner.text) for child in item.children for inner in child.walk()]
        if found.op is Op.TNK or (found.op is Op.QUE and found.text.startswith("Say(")):
            return not any(inner.op in _CONTROL for inner in below)
        return found.op is Op.EXE and not any(inner.known for inner in below)

    def _waiting(self, found: Instruction, children: Sequence[Step]) -> str:
        """The text of a step; a loop that lasts as long as a meeting waits for it, unless a step below does."""
        waits = any(step.op is Op.YLD or "YLD for" in step.text for child in children for step in child.walk())
        if not (found.loop and self._meeting and phrases.WHILE_ACTIVE.search(found.text)) or waits:
            return found.text
        return f"{found.text}; YLD for meeting"


def _details(item: ListItem) -> str:
    return "; ".join(inner.text.rstrip(";") for child in item.children for inner in child.walk())


def _below(item: ListItem, found: Instruction) -> tuple[ListItem, ...]:
    """What stands below a step: its list, after or below the clause of its own sentence."""
    if found.body is None:
        return item.children
    if found.body.rstrip().endswith(":"):
        return (replace(item, text=found.body),)
    return (replace(item, text=found.body, children=()), *item.children)


def _leaves(step: Step) -> bool:
    return step.op in (Op.JMP, Op.RET) or (step.op is Op.YLD and step.text == "for exit")


def _line(parent: str, number: int) -> str:
    return f"{parent}.{number:02}" if parent else f"{number:02}"
