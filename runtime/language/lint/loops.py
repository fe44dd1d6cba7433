"""Loops that nothing can end: no step in them waits, acts, leaves, or changes what they test."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from runtime.language.instructions.decode import decode
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Ask, Call, End, Free, Jump, Leave, Loop, LoopKind, Return, Wait
from runtime.language.instructions.uses import sets
from runtime.language.lint.findings import Finding
from runtime.language.program import PlaybookSpec, Step


def endless_loops(playbook: PlaybookSpec) -> Iterator[Finding]:
    """The loops of a playbook that go on in the same way for ever. Only those whose test is exact are looked at."""
    for step in playbook.walk_steps() if playbook.walked else ():
        head = decode(step).head
        if not isinstance(head, Loop) or head.kind not in (LoopKind.WHILE, LoopKind.UNTIL):
            continue
        if isinstance(head.over, Expression) and " " in step.text and _is_endless(step, head, head.over.names):
            changes = " or ".join(f"${name}" for name in sorted(head.over.names))
            hint = f"Ask or wait for somebody in it, or {f'change {changes}' if changes else 'break'}."
            yield Finding(step.span, "nothing in this loop waits, or changes what it tests", hint, step.text)


def _is_endless(step: Step, loop: Loop, tested: Collection[str]) -> bool:
    if loop.waits or loop.at_most is not None or not step.children:
        return False
    for inner in (one for child in step.children for one in child.walk()):
        found = decode(inner)
        if sets(found) & {*tested}:
            return False
        for part in found.parts:
            leaves = isinstance(part, Jump) and not (part.line == step.line or part.line.startswith(f"{step.line}."))
            leaves = leaves or (isinstance(part, Leave) and not part.next_round)
            if leaves or isinstance(part, Ask | Wait | Call | Free | End | Return):
                return False
    return True
