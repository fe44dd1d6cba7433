"""The deterministic lowerer: offline, instant, with a report of the steps that it did not recognise."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from runtime.language.diagnostics import DiagnosticList
from runtime.language.event_triggers import trigger_kind
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.model import BranchSide, Condition, Leave, Loop, StepGroup
from runtime.language.instructions.steps.course import course_of, starts_over
from runtime.language.instructions.steps.repeating import loop_of
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.instructions.uses import operand_texts, sets
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.answers import answer_in, answering
from runtime.language.lowering.checks.lost_words import lost_words
from runtime.language.lowering.checks.source_check import lost_names
from runtime.language.lowering.classifier import Classifier
from runtime.language.lowering.clauses import unquoted
from runtime.language.lowering.inference import FirstUses, result_type
from runtime.language.lowering.instruction import LoweredInstruction, LoweredStep, free, meaning_of
from runtime.language.lowering.lowerer import NO_STEP, LoweredAgent, LoweringReport, UnclassifiedStep
from runtime.language.lowering.meeting_waits import MeetingWaits
from runtime.language.lowering.occasions import LoopPeople, Occasions, reaction
from runtime.language.lowering.questions import about_values, about_what_was_found
from runtime.language.lowering.scope import Reach, attendees, is_meeting
from runtime.language.lowering.sides import beyond_the_test, is_exact, nothing_below, why_no_side, work_first
from runtime.language.pbasm.notation import coded_trigger, given_steps, number_notes
from runtime.language.program import AgentSpec, OpCode, PlaybookSpec, Step, Trigger, TriggerKind
from runtime.language.syntax.listing import MAX_DEPTH
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.vocabulary.phrase import phrase

_VERSION = 49
_DEEPEST = MAX_DEPTH - 2
"""How deep a step may be that becomes several, one of them perhaps with a jump below it."""
_CONTROL = frozenset({OpCode.CND, OpCode.YLD, OpCode.JMP, OpCode.RET, OpCode.CHK})


class RulesLowerer:
    """Lowers by patterns of English. Each step of the source is one line, so that its author finds it by counting."""

    @property
    def fingerprint(self) -> str:
        """A text that changes with the rules."""
        return f"rules-{_VERSION}"

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> LoweredAgent:
        """The compiled form of `source`, one of the agents of `program`."""
        spec, report = self.understood(source, program)
        playbooks = (replace(one, steps=tuple(map(_written_out, one.steps))) for one in spec.playbooks)
        return LoweredAgent(replace(spec, playbooks=tuple(playbooks)), report)

    def understood(self, source: ParsedAgent, program: ParsedProgram) -> tuple[AgentSpec, LoweringReport]:
        """The same with the parts of which its steps were made."""
        notes: list[UnclassifiedStep] = []
        problems = DiagnosticList()
        reach = Reach(source, program)
        results = _results(source, reach)
        meetings = tuple(playbook.name for playbook in source.playbooks if is_meeting(playbook))
        playbooks = tuple(
            _playbook(
                playbook,
                _StepLowering(playbook, reach, _classifier(playbook, reach, meetings, (source, program)), notes),
                results,
                problems,
            )
            for playbook in source.playbooks
        )
        problems.stop_if_any()
        waits = MeetingWaits(playbooks, source.fences)
        playbooks = tuple(
            playbook if given_steps(parsed.steps, problems) is not None else waits.added(playbook)
            for parsed, playbook in zip(source.playbooks, playbooks, strict=True)
        )
        spec = AgentSpec(
            source.name, source.kind, source.span, source.description, source.metadata, playbooks, source.fences
        )
        return spec, LoweringReport(tuple(notes))


def _written_out(step: Step) -> Step:
    """A step as text, without the parts of which it was made."""
    return Step(step.line, step.op, step.text.strip(), step.span, tuple(map(_written_out, step.children)))


def _playbook(
    playbook: ParsedPlaybook, lowering: _StepLowering, results: Mapping[str, str], problems: DiagnosticList
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
    playbook: ParsedPlaybook, lowering: _StepLowering, results: Mapping[str, str], problems: DiagnosticList
) -> tuple[Step, ...]:
    """The steps; those of a playbook in PBAsm are read as they are."""
    given = given_steps(playbook.steps, problems)
    if given is not None:
        return given
    uses = FirstUses(frozenset(param.name for param in playbook.params), results)
    return uses.typed(lowering.lower_all(playbook.steps, ""))


def _results(agent: ParsedAgent, reach: Reach) -> Mapping[str, str]:
    """The types of playbooks' results, by the names that this agent uses."""
    own = {playbook.name: result_type(playbook.returns) for playbook in agent.playbooks}
    theirs = {
        f"{other.name}.{playbook.name}": result_type(playbook.returns)
        for other in reach.others
        for playbook in other.playbooks
    }
    return {**theirs, **own}


def _triggers(items: Sequence[ListItem]) -> tuple[Trigger, ...]:
    """The triggers with their codes; duplicate codes are renumbered."""
    triggers = [coded_trigger(item) or _trigger(item, number) for number, item in enumerate(items, 1)]
    if len({trigger.code for trigger in triggers}) < len(triggers):
        triggers = [replace(trigger, code=f"T{number}") for number, trigger in enumerate(triggers, 1)]
    return tuple(triggers)


def _trigger(item: ListItem, number: int) -> Trigger:
    """A trigger in words, perhaps behind its code: `CND: When $total > 10`."""
    code, _, text = item.text.partition(" ")
    if code.rstrip(":.-") in TriggerKind.__members__ and (words := text.lstrip(" :.-")):
        return Trigger(f"T{number}", TriggerKind(code.rstrip(":.-")), words, item.span)
    return Trigger(f"T{number}", trigger_kind(item.text), item.text, item.span)


def _classifier(
    playbook: ParsedPlaybook, reach: Reach, meetings: tuple[str, ...], within: tuple[ParsedAgent, ParsedProgram]
) -> Classifier:
    others = tuple(name for name in meetings if name != playbook.name)
    meeting = is_meeting(playbook)
    present = attendees(playbook, *within, reach) if meeting else None
    return Classifier(reach, within=playbook.name, meetings=others, meeting=meeting, attendees=present)


_Step = LoweredStep | None


class _StepLowering:
    def __init__(
        self, playbook: ParsedPlaybook, reach: Reach, classifier: Classifier, notes: list[UnclassifiedStep]
    ) -> None:
        self._playbook = playbook.name
        self._reach = reach
        self._lines = {_line("", number) for number in range(1, len(playbook.steps) + 1)}
        self._classifier = classifier
        self._notes = notes
        self._loop_people = LoopPeople()
        self._behind: tuple[_Step, _Step] | None = None
        """What stands before a heading without words, below which a sentence with both sides of a condition is."""
        self._occasions = Occasions(_triggers(playbook.triggers))
        self._answers: dict[str, str] = {}
        """The steps that depend on an answer alone, by their lines."""
        self._questions = classifier.speech.questions
        self._questions.given = {param.name for param in playbook.params}
        self._questions.worded = {*self._questions.given}
        types = {param.name: (param.type or "").partition("[")[0] for param in playbook.params}
        self._questions.lists = {name for name, kind in types.items() if kind == "list"}
        self._questions.numbers = {name for name, kind in types.items() if kind in ("int", "float")}
        if any(classifier.speech.begun_by_the_user(trigger.text) for trigger in playbook.triggers):
            classifier.speech.heard("user")

    def lower_all(self, items: Sequence[ListItem], parent: str, above: _Step = None) -> tuple[LoweredStep, ...]:
        """The steps of a list. A wait alone is merged with its question, which may be the step `above` the list."""
        steps: list[LoweredStep] = []
        behind, self._behind = self._behind, None
        for number, item in enumerate(items, 1):
            before = steps[-1] if steps else None
            asked = one.asked if (one := before or above) else None
            self._classifier.asked_before = asked.done if asked else None
            following = next(iter((*item.children, *items[number:])), None)
            self._classifier.speech.answered_next = reaction(following.text) if following else ""
            line = _line(parent, number)
            found = about_what_was_found(item.text, before, self._reach)
            item = dataclasses.replace(item, text=about_values(found, self._questions))
            around = (before, above) if steps or behind is None else behind
            step = self._other_side(item, steps, line) or self._lower(item, line, *around)
            if before and asked and not before.children and (waits := step.waits_for(asked)):
                steps[-1] = before.without_its_wait()
                step = waits
            self._questions.given |= sets(meaning_of(step))
            self._occasions.note(step)
            steps.append(step)
        return tuple(steps)

    def _other_side(self, item: ListItem, steps: Sequence[LoweredStep], line: str) -> _Step:
        """An "otherwise" after a condition that stays free: nothing exact says when it is meant, so it is free, too."""
        why = why_no_side(phrases.plain(item.text), steps)
        return self._written(*_whole(item, why), line) if why else None

    def _lower(self, item: ListItem, line: str, before: _Step, above: _Step) -> LoweredStep:
        found, item = self._understood(item)
        target = found.text.partition(" ")[0] if found.op is OpCode.JMP else ""
        if target and target not in self._lines:
            found = free(item.text, NO_STEP)
        elif target and "repeat step " in item.text.lower() and int(target) + 1 != int(line.partition(".")[0]):
            found = free(item.text, "the steps behind the one that it repeats may not be meant")
        if self._classifier.loops and (_may_end_the_loop(found, said := item.text.strip()) or starts_over(said)):
            found = free(item.text, "it may be about the loop, or about the whole playbook")
        if found.known and found.op is OpCode.CND and found.body is None and not item.children:
            found = self._classifier.alone(found.text)
        elif found.known and found.op is OpCode.CND and not found.body and (why := beyond_the_test(found.text)):
            found, item = _whole(item, why)
        found, item = self._loop_people.counting(*self._in_full(found, item, line, before, above))
        once = found.known and found.op is OpCode.CND and not found.loop
        later = self._occasions.why_later(found.text, above, in_a_loop=self._classifier.loops > 0) if once else ""
        known = self._questions.whether_known(found.text) if once else ""
        below = nothing_below(found.text) if once and found.body is None and not item.children else ""
        if why := later or known or below or self._loop_people.doubt(found, item.text):
            found, item = _whole(item, why)
        noted, started = len(self._notes), len(self._classifier.background.started)
        if found.loop and found.known and not (phrase("again if").begins(found.text) or loop_of(found.text)):
            found, item = _whole(item, "the list that it goes through is unclear")
        self._behind = (before, above) if found.known and not found.text else None
        step = self._written(found, item, line)
        said = messages.without_going_on(phrases.plain(item.text), in_a_loop=self._classifier.loops > 0)
        bare = phrase("opening").without(said)
        if course := course_of(bare):  # the grammar has read the other words of such a step
            said = f"{said[: said.index(bare)]} {course.said}"
        lost = _lost(said, step) if found.known and not phrases.PBASM.match(said) else []
        if lost:
            del self._notes[noted:], self._classifier.background.started[started:]
            reason = f"the rules do not know what becomes of {', '.join(lost)}"
            item = _folded(item) if found.op is OpCode.CND and item.children else item
            found = free(item.text, reason)
            step = self._written(found, item, line)
        return step

    def _in_full(
        self, found: LoweredInstruction, item: ListItem, line: str, before: _Step, above: _Step
    ) -> tuple[LoweredInstruction, ListItem]:
        """A step that depends on *so* or *not*, with what that answers in its place; a free one that is too deep."""
        if line.count(".") >= _DEEPEST and (found.after or found.body is not None):
            return _whole(item, "it has too many parts within each other")
        answer = answer_in(found) if found.known else None
        if answer is None:
            return found, item
        self._answers[line] = answer
        found = answering(found, answer, before, self._answers.get(before.line) if before else None, above)
        return (found, item) if found.known else _whole(item, found.reason)

    def _understood(self, item: ListItem) -> tuple[LoweredInstruction, ListItem]:
        """The meaning of an item, and the item with the details that belong to its sentence."""
        found = self._classifier.classify(item.text)
        if item.children and item.text.rstrip().endswith(":") and self._takes_details(found, item):
            item = dataclasses.replace(item, text=f"{item.text} {_details(item)}", children=())
            return self._classifier.classify(item.text, whole=True), item
        if item.children and found.op is not OpCode.CND:
            found = self._with_steps_below(found, item)
        elif item.children and (body := found.body) and (inner := self._classifier.classify(body)).op is OpCode.CND:
            found = found if inner.body else replace(found, body=f"{body.rstrip(' :')}:")
        whole = found.whole and item.children
        return (replace(found, text=_folded(item).text), _folded(item)) if whole else (found, item)

    def _with_steps_below(self, found: LoweredInstruction, item: ListItem) -> LoweredInstruction:
        """A step with others below it: if its sentence makes them depend on something, it is split or stays free."""
        text = unquoted(item.text)
        if phrases.PBASM.match(item.text):
            return found
        if each := phrase("goes through each").is_all_of(item.text.rstrip(" :,")):
            return LoweredInstruction(OpCode.CND, f"For each {each['item']} in {each['what']}", loop=True)
        if condition := phrase("condition at the end").inside(text):
            first = self._classifier.classify(item.text[: condition.start()])
            if first.known and first.op not in _CONTROL:
                return replace(first, after=(*first.after, item.text[condition.end() :].lstrip()))
        keeps = phrase("keep asking").begins(text)
        until = phrase("until").inside(item.text) if keeps else None
        alone = until is not None and item.text[: until.start()].rstrip().endswith("asking")
        if until and alone and read_condition(test := until["what"].rstrip(" :")):
            return LoweredInstruction(OpCode.CND, f"Repeat until {test}", loop=True)
        asks = found.talk and found.talk.asks and not (keeps or phrase("asks for each").inside(text))
        if not found.after and phrase("repeats").inside(text) and not asks:
            return free(item.text, "whether the steps below it are done again is part of the sentence", whole=True)
        return found

    def _written(self, found: LoweredInstruction, item: ListItem, line: str) -> LoweredStep:
        """The step of an instruction, with its steps below."""
        if not found.known:
            self._notes.append(UnclassifiedStep(self._playbook, line, item.text, item.span, item.shown, found.reason))
            self._classifier.speech.note(item.text)
        for name in (found.talk.target, *found.talk.others) if found.talk else ():
            if name != "meeting":
                self._classifier.speech.heard(name)
        found = work_first(found)
        step = LoweredStep(line, found.op, found.text, item.span, spoken=found.spoken)
        self._questions.note(found, found.does)
        self._classifier.background.note(found.does)
        self._classifier.loops += found.loop
        condition = line if found.op is OpCode.CND else None
        with self._classifier.background.inside(condition), self._loop_people.inside(found, item):
            about, self._questions.about = self._questions.about, phrases.VARIABLE.findall(found.text)
            children = self.lower_all(_below(item, found), line, step)
            self._questions.about = about
        self._classifier.loops -= found.loop
        asked = step.asked if found.talk else None
        first = children[0] if children else None
        if asked and first and not first.children and (waits := first.waits_for(asked)):
            step = step.without_its_wait()
            children = (waits, *children[1:])
        if found.loop and children and not _leaves(children[-1]):
            children += (LoweredStep(_line(line, len(children) + 1), OpCode.JMP, line, item.span),)
        return replace(step, children=children)

    def _takes_details(self, found: LoweredInstruction, item: ListItem) -> bool:
        """Whether the list below "…:" belongs to the sentence: topics to say or think about, or mere nouns."""
        texts = [inner.text for child in item.children for inner in child.walk()]
        acts = any(is_exact(one) or phrases.whole_call(one) for one in texts)
        if phrase("keep asking").begins(item.text) or (acts and not phrase("for people below").inside(item.text)):
            return False
        if found.op is OpCode.TNK or (found.spoken and found.spoken.targets):
            return not any(self._classifier.classify(one).op in _CONTROL for one in texts)
        return found.op is OpCode.EXE and not any(self._classifier.classify(one).known for one in texts)


def _whole(item: ListItem, reason: str) -> tuple[LoweredInstruction, ListItem]:
    """A free step with the text of the steps below it in its own."""
    item = _folded(item) if item.children else item
    return free(item.text, reason), item


def _folded(item: ListItem) -> ListItem:
    """An item with the text of its steps below in its own."""
    return dataclasses.replace(item, text=f"{item.text.rstrip(':')}: {_details(item)}", children=())


def _details(item: ListItem) -> str:
    return "; ".join(inner.text.rstrip(";") for child in item.children for inner in child.walk())


def _below(item: ListItem, found: LoweredInstruction) -> tuple[ListItem, ...]:
    """The items below a step: the other clauses of its sentence, and its list, below the last of these."""
    inside = [text for text in (found.body, *found.after) if text is not None]
    clauses = [dataclasses.replace(item, text=text, children=()) for text in inside]
    belongs = found.after or (found.body is not None and found.body.rstrip().endswith(":"))
    if clauses and belongs:
        return (*clauses[:-1], dataclasses.replace(clauses[-1], children=item.children))
    return (*clauses, *item.children)


def _may_end_the_loop(found: LoweredInstruction, said: str) -> bool:
    """Whether "stop" alone, or behind a message, is all that says what ends."""
    ends = phrase("end of something").inside(said)
    if ends is None or found.ends != "exit":
        return False
    return found.op is not OpCode.YLD or not phrase("opening").without(said[: ends.start()])


def _lost(said: str, step: Step) -> list[str]:
    rows = [f"{inner.op} {inner.text}" for inner in step.walk()]
    operands = [text for inner in step.walk() for text in _meant(inner)]
    answer, made = phrase("answer kept").inside(said), phrase("kept at the end").inside(said)
    if answer and answer["name"] in sets(meaning_of(step)):
        said = f"{said[: answer.start()]} ${answer['name']}"
    elif made and step.text.startswith(f"{made['target']} = "):
        said = f"{said[: made.start()]} {made['target']}"
    return lost_words(said, rows) or lost_words(said, rows, operands) or lost_names(said, "\n".join(rows))


def _meant(step: Step) -> Iterable[str]:
    """The texts in a step that keep an author's words; all of a heading, and of one whose words a grammar has read."""
    found = meaning_of(step)
    whole = (
        isinstance(found.head, Leave | Loop)
        or found.head == StepGroup("")
        or (isinstance(found.head, Condition) and found.head.side is BranchSide.ELSE)
        or (step.op is OpCode.EXE and settings_of(step.text))
    )
    return (step.text,) if whole else operand_texts(found)


def _leaves(step: Step) -> bool:
    return step.op in (OpCode.JMP, OpCode.RET) or (step.op is OpCode.YLD and step.text == "for exit")


def _line(parent: str, number: int) -> str:
    return f"{parent}.{number:02}" if parent else f"{number:02}"
