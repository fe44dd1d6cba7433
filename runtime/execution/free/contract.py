"""What strict execution demands of a reply besides that each of its statements is legal.

After a step and after an update of a variable the model says whether a trigger holds (where the agent has triggers
that only a model can judge); what a trigger starts is called next; a step that waits is waited for; a playbook returns
only where its steps end, and after it has summed up in `$__` what it did.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from runtime.execution.free.inner_checks import InnerChecks
from runtime.execution.free.position import Position, Rejected
from runtime.execution.free.statement import assigned_names, call_name, mutated_names, nodes_in, parsed
from runtime.execution.free.summaries import SUMMARY, Summaries
from runtime.execution.free.verifier import calls_in, ends_turn, step_line, trigger_key

END = "EndProgram"
"""The call that ends the program."""

_LEAVE = frozenset({"Return", END})

EXIT_CONDITIONS = "exit_conditions"
"""The name under which a playbook without steps writes down when it is done."""

_CHECK = re.compile(r"trig\s*\?\s*:?\s*(.*)", re.IGNORECASE | re.DOTALL)
_BESIDE = re.compile(r"#\s*(trig\s*\?[^\n\"']*)\Z", re.IGNORECASE)
"""A check that stands behind a statement in its line."""

_NONE = re.compile(r"(?:no|none|nothing)\b|\Z", re.IGNORECASE)


class Contract:
    """Follows one reply: its remarks, and its statements in their order."""

    def __init__(self) -> None:
        self._owed: str | None = None
        """Behind what it is still to be said whether a trigger holds."""
        self._announced: str | None = None
        """The trigger that was said to hold."""
        self._started: str | None = None
        """The playbook that a trigger starts and that was not called yet."""

    def hear(self, remark: str) -> None:
        """A comment on a line of its own."""
        found = _CHECK.match(remark)
        if found is None:
            return
        self._owed = None
        code = found[1].strip().strip("`")
        self._announced = None if _NONE.match(code) else _bare(code)

    def check_say(self, position: Position) -> Rejected | None:
        """Whether something may begin to be shown now."""
        return self._check_triggers(frozenset({"Say"}), None, position) if position.strict else None

    def check(self, source: str, position: Position, written: str | None = None) -> Rejected | None:
        """None when a legal statement may stand here, else why not. `written` is the statement with its comments."""
        if not position.strict:
            return None
        tree, calls = parsed(source), _calls(source)
        names = frozenset(name for name, _ in calls)
        quiet = ends_turn(source) or _updates(source, position) == {SUMMARY}
        triggered = next((code for name, code in calls if name == "Trigger"), None)
        if not quiet or self._announced or self._started:
            rejected = self._check_triggers(names, triggered, position)
            if rejected is not None:
                return rejected
        if position.judges:
            text = written or source
            missing = _inner_checks(text, position).missing(parsed(text))
            if missing is not None:
                return _unchecked(missing, position)
        return _check_ways(tree, position)

    def ran(self, source: str, position: Position, written: str | None = None) -> None:
        """The statement is executed next. `written`: see `check`."""
        calls = _calls(source)
        names = {name for name, _ in calls}
        if self._started in names:
            self._started = None
        for name, text in calls:
            if name == "Trigger" and text is not None:
                self._announced, self._owed = None, None
                started = position.triggers.get(trigger_key(text, position) or "")
                self._started = None if started in names else started
        if position.judges and (owed := _owed_for(source, position)):
            self._owed = owed
        beside = _BESIDE.search(written or source)
        if beside is not None:
            self.hear(beside[1])

    def _check_triggers(self, names: frozenset[str], triggered: str | None, position: Position) -> Rejected | None:
        if self._announced is not None and (triggered is None or _bare(triggered) != self._announced):
            return Rejected("trigger", f'behind `# trig? {self._announced}` comes `await Trigger("{self._announced}")`')
        if self._started is not None and self._started not in names:
            return Rejected("trigger", f"a trigger of {self._started} was said to hold: its call comes next")
        if self._owed is not None and triggered is None:
            return _unchecked(self._owed, position)
        return None


def _unchecked(behind: str, position: Position) -> Rejected:
    known = ", ".join(sorted(position.triggers))
    return Rejected("trigger", f"behind {behind} comes `# trig? no`, or `# trig? <code>` with one of {known}")


def _inner_checks(written: str, position: Position) -> InnerChecks:
    def owes(statement: ast.stmt) -> str | None:
        return _owed_for(ast.unparse(statement), position)

    def is_free(statement: ast.stmt) -> bool:
        source = ast.unparse(statement)
        says_so = any(name == "Trigger" for name, _ in _calls(source))
        return says_so or ends_turn(source) or _updates(source, position) == {SUMMARY}

    return InnerChecks(written, owes, is_free)


def _owed_for(source: str, position: Position) -> str | None:
    """Behind what it is to be said whether a trigger holds; None when behind nothing, "" when one does."""
    calls = _calls(source)
    steps = [text for name, text in calls if name == "Step"]
    changed = sorted(_updates(source, position) - {SUMMARY})
    if any(name == "Trigger" for name, _ in calls):
        return ""
    if not (steps or changed):
        return None
    return f"Step {steps[-1]}" if steps else f"the update of ${changed[-1]}"


def _check_ways(tree: ast.AST, position: Position) -> Rejected | None:
    """Whether control goes where it may: past a wait, out of the playbook."""
    summaries, steps = Summaries(tree, summed_up=position.summarised), [position.step]
    for node in _in_order(tree):
        name, text = call_name(node.func), _text(node)
        leaves = name in _LEAVE or (name == "Yld" and str(text).strip().lower() in ("exit", "return"))
        if position.waits and (leaves or name == "Step"):
            return _waiting(name or "", position)
        if name == "Step" and text is not None and (line := step_line(text, position)):
            steps.append(line)
        if not leaves:
            continue
        if position.flow is not None and not any(position.flow.may_leave(step) for step in steps):
            return _skipping(name or "", position)
        if position.reacts and name == "Return" and EXIT_CONDITIONS not in position.names | assigned_names(tree):
            return Rejected("exit", f'before Return comes `{EXIT_CONDITIONS} = ["…"]`: what the result had to meet')
        if summaries.missing_at(node) and name != END and str(text).strip().lower() != "exit":
            return Rejected("summary", f'before {name} comes `await Var("{SUMMARY}", "<what was done>")`')
    return None


def leaves_early(name: str, position: Position) -> Rejected | None:
    """Why a playbook may not end by `name` at the step at which it came to that; None when it may."""
    if not position.strict or position.flow is None:
        return None
    if position.waits:
        return _waiting(name, position)
    if not position.flow.may_leave(position.step):
        return _skipping(name, position)
    return None


def _skipping(name: str, position: Position) -> Rejected:
    return Rejected("order", f"{name} skips steps that follow {position.step}", "", position.legal_steps())


def _waiting(name: str, position: Position) -> Rejected:
    return Rejected(
        "wait", f"step {position.step} waits: end the turn with its Yld before {name}", "", position.legal_steps()
    )


def _in_order(tree: ast.AST) -> Iterator[ast.Call]:
    nodes = [node for node in nodes_in(tree) if isinstance(node, ast.Call)]
    yield from sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _updates(source: str, position: Position) -> set[str]:
    """The variables of the agent that a statement updates."""
    named = {_variable(text) for name, text in _calls(source) if name == "Var" and text is not None}
    return named | (_changed_names(source) & (position.variables | {SUMMARY}))


@lru_cache(maxsize=64)
def _changed_names(source: str) -> frozenset[str]:
    tree = parsed(source)
    return frozenset(assigned_names(tree) | mutated_names(tree))


@lru_cache(maxsize=64)
def _calls(source: str) -> tuple[tuple[str, str | None], ...]:
    """The calls of a statement in their order, each with its first argument where that is a text."""
    return tuple((name, _text(node)) for name, node in calls_in(parsed(source)))


def _text(node: ast.Call) -> str | None:
    given = [*node.args[:1], *(keyword.value for keyword in node.keywords[:1] if not node.args)]
    first = given[0] if given else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _variable(text: str | None) -> str:
    return (text or "").removeprefix("$")


def _bare(code: str) -> str:
    """A code without what some write around it: `Trigger["Main:Big:T1:CND"]`."""
    found = re.search(r"[\w.]+(?::[\w.]+)+", code)
    return found[0] if found else code
