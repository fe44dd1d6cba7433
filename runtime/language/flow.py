"""The control-flow graph of a playbook: which step may come after which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.language.program import Op, PlaybookSpec, Step

END = "end"

_MOST_JUMPS = 100
"""The number of jumps in a row that are followed."""

_LOOP = re.compile(r"\s*(while|for\s+each|for\s+every|for|until|repeat|loop|keep|as long as|whenever)\b", re.IGNORECASE)
_ELSE = re.compile(r"\s*(?:else|otherwise|elif|elseif)\b\s*[,:]?\s*", re.IGNORECASE)
_CONDITION = re.compile(r"\s*(?:if|when|unless|in case|\$)", re.IGNORECASE)
_ELIF = re.compile(r"\s*(?:elif|elseif)\b", re.IGNORECASE)
_TARGET = re.compile(r"\s*(?:to\s+)?(?:step\s+)?(\d+(?:\.\d+)*)\s*(.*)", re.IGNORECASE | re.DOTALL)
_EXIT = re.compile(r"\bYLD\s+(?:for\s+)?(?:exit|return)\b")
_EXIT_TEXT = re.compile(r"\s*(?:for\s+)?(?:exit|return)\b", re.IGNORECASE)
_AGAIN = re.compile(r"\bYLD\s+(?!(?:for\s+)?(?:call|exit|return)\b)|\bdone when\b")
_BREAK = re.compile(r"\b(?:break|(?:exit|leave|stop|end|quit) (?:the|this) loop)\b", re.IGNORECASE)
_ONLY_BREAK = re.compile(r"\s*(?:break|(?:exit|leave|stop|end|quit) (?:the|this) loop)\s*\.?\s*\Z", re.IGNORECASE)
_ONLY_CONTINUE = re.compile(r"\s*continue(?: with the next(?: one)?)?\s*\.?\s*\Z", re.IGNORECASE)
_RETURNS = re.compile(r"\b(?:return|end (?:the )?program)\b", re.IGNORECASE)
_CONTINUE = re.compile(r"\bcontinue with the next\b|^\s*continue\b", re.IGNORECASE)

_LEAVES = re.compile(
    r"\breturn\b|\bEndProgram\b|\b(?:end|stop|exit|finish|leave)\s+(?:the\s+|this\s+)?(?:program|playbook|conversation|here)\b",
    re.IGNORECASE,
)
"""A step or note that lets a playbook end before its steps do."""

_YIELD = re.compile(r"\bYLD\s+(?!(?:for\s+)?(?:call|exit|return)\b)")
_PERHAPS = re.compile(r"\bYLD\b.*\b(?:if|unless|when needed)\b|\b(?:if|unless)\b.*\bYLD\b", re.IGNORECASE | re.DOTALL)

_Ends = frozenset[str]


def is_loop(step: Step) -> bool:
    """Whether a step repeats what is below it: by its words, or by a jump back from there."""
    if step.op is Op.LOP:
        return True
    if step.op is not Op.CND:
        return False
    if _LOOP.match(step.text):
        return True
    return any(inner.op is Op.JMP and jump_target(inner) == step.line for inner in step.walk())


def is_else(step: Step) -> bool:
    """Whether a step is the other side of the condition before it."""
    return step.op is Op.ELS or (step.op is Op.CND and _ELSE.match(step.text) is not None)


def jump_target(step: Step) -> str | None:
    """The line that a JMP goes to, None when it names none."""
    match = _TARGET.match(step.text)
    return match[1] if match else None


class Flow:
    """Legal orders of the steps of one playbook.

    A plain step is never skipped and nothing goes back without a loop or a JMP. The body of a condition may be
    skipped; an else comes directly after a condition whose body was not taken. A JMP has no effect of its own, so the
    line it goes to may follow without it. A step that waits for somebody may be repeated.
    """

    def __init__(self, playbook: PlaybookSpec) -> None:
        self._steps: dict[str, Step] = {step.line: step for step in playbook.walk_steps()}
        self._noted = any(_LEAVES.search(note) for note in playbook.notes)
        self._next: dict[str, _Ends] = {}
        if playbook.steps:
            self._place(playbook.steps, frozenset({END}), None)
        self.entry: frozenset[str] = self._arrive(playbook.steps[0].line) - {END} if playbook.steps else frozenset()

    def legal_after(self, line: str | None) -> tuple[Step, ...]:
        """The steps that may follow this one, in the order of the program; of None, those it may begin with.

        Empty when only a return may follow, and for a line that does not exist.
        """
        lines = self.entry if line is None else self._next.get(line, frozenset())
        return tuple(step for key, step in self._steps.items() if key in lines)

    def may_follow(self, current: str | None, following: str) -> bool:
        """Whether `following` is one of the steps that may come after `current`."""
        lines = self.entry if current is None else self._next.get(current, frozenset())
        return following in lines and following in self._steps

    def may_end(self, line: str | None) -> bool:
        """Whether the playbook may return after this step without having skipped another."""
        if line is None:
            return not self._steps
        return END in self._next.get(line, frozenset({END}))

    def may_leave(self, line: str | None) -> bool:
        """Whether it may return or end here: at its end, and where a step or a note says so in its own words."""
        step = self._steps.get(line or "")
        return self.may_end(line) or self._noted or (step is not None and _LEAVES.search(step.text) is not None)

    def waits(self, line: str | None) -> bool:
        """Whether this step ends with a wait for somebody that nothing makes optional."""
        step = self._steps.get(line or "")
        if step is None or step.op in (Op.CND, Op.LOP, Op.ELS) or _PERHAPS.search(step.text):
            return False
        return _waits(step) if step.op is Op.YLD else _YIELD.search(step.text) is not None

    def _place(self, steps: Sequence[Step], after: _Ends, loop: tuple[str, _Ends] | None) -> None:
        """Give every step of a list its successors; `after` is where control goes from the end of the list."""
        for index, step in enumerate(steps):
            beyond = self._beyond(steps, index, after)
            otherwise = self._otherwise(steps, index, after)
            self._next[step.line] = self._successors(step, beyond, otherwise, loop)
            if step.children:
                if is_loop(step):
                    back = beyond | {step.line}
                    self._place(step.children, back, (step.line, beyond))
                else:
                    self._place(step.children, beyond, loop)

    def _beyond(self, steps: Sequence[Step], index: int, after: _Ends) -> _Ends:
        """The next position of control when a step and its body are done: past every else that belongs to it."""
        following = index + 1
        if _is_branch(steps[index]):
            while following < len(steps) and is_else(steps[following]):
                following += 1
        return self._arrive(steps[following].line) if following < len(steps) else after

    def _otherwise(self, steps: Sequence[Step], index: int, after: _Ends) -> _Ends:
        """The next position of control when the condition of a step is false."""
        following = index + 1
        lines: set[str] = set()
        while following < len(steps) and is_else(steps[following]):
            lines.add(steps[following].line)
            if _is_unconditional(steps[following]):
                return frozenset(lines)
            following += 1
        return frozenset(lines) | self._beyond(steps, index, after)

    def _successors(self, step: Step, beyond: _Ends, otherwise: _Ends, loop: tuple[str, _Ends] | None) -> _Ends:
        if step.op is Op.RET or _ends_program(step):
            return frozenset({END})
        if loop is not None and not step.children and _ONLY_BREAK.match(step.text):
            return loop[1]
        if loop is not None and not step.children and _ONLY_CONTINUE.match(step.text):
            return frozenset({loop[0]})
        found: set[str] = set()
        if step.op is Op.JMP and (target := self._jump(step)):
            found |= target | (beyond if _is_conditional(step) else frozenset())
        elif step.op in (Op.CND, Op.LOP, Op.ELS):
            found |= self._after_condition(step, beyond, otherwise)
        else:
            found |= self._arrive(step.children[0].line) if step.children else beyond
        if _waits(step):
            found.add(step.line)
        if loop is not None and _BREAK.search(step.text):
            found |= loop[1]
        if loop is not None and _CONTINUE.search(step.text):
            found.add(loop[0])
        return frozenset(found)

    def _after_condition(self, step: Step, beyond: _Ends, otherwise: _Ends) -> _Ends:
        if not step.children:
            again = {step.line} if is_loop(step) else set()
            ends = {END} if _RETURNS.search(step.text) else set()
            return beyond | otherwise | again | ends
        body = self._arrive(step.children[0].line)
        if is_else(step) and _is_unconditional(step):
            return body
        return body | otherwise

    def _jump(self, step: Step) -> _Ends | None:
        """The target of a JMP, or None when it names no line of this playbook."""
        target = jump_target(step)
        if target is None or target not in self._steps:
            return None
        return self._arrive(target)

    def _arrive(self, line: str) -> _Ends:
        """The legal lines when control reaches this one: itself, and through a JMP its target."""
        lines: set[str] = set()
        while line in self._steps and line not in lines and len(lines) < _MOST_JUMPS:
            lines.add(line)
            step = self._steps[line]
            target = jump_target(step) if step.op is Op.JMP else None
            if target is None:
                break
            line = target
        return frozenset(lines)


def _is_conditional(jump: Step) -> bool:
    match = _TARGET.match(jump.text)
    return bool(match and match[2])


def _is_branch(step: Step) -> bool:
    return step.op in (Op.CND, Op.ELS) and not is_loop(step)


def _is_unconditional(step: Step) -> bool:
    match = _ELSE.match(step.text)
    rest = step.text[match.end() :] if match else step.text
    return not _ELIF.match(step.text) and not _CONDITION.match(rest)


def _ends_program(step: Step) -> bool:
    if step.op is Op.YLD:
        return _EXIT_TEXT.match(step.text) is not None
    return _EXIT.search(step.text) is not None


def _waits(step: Step) -> bool:
    if step.op is Op.YLD:
        return not re.match(r"\s*(?:for\s+)?(?:call|exit|return)\b", step.text)
    return _AGAIN.search(step.text) is not None
