"""Comparison of a model's instructions with the author's words, as far as possible without understanding them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runtime.language.lowering import phrases
from runtime.language.lowering.checks.lost_words import quoted, squeezed
from runtime.language.pbasm.step_lines import given_steps
from runtime.language.problems import Problems
from runtime.language.program import AgentSpec, Op, Step, TriggerKind
from runtime.language.syntax.nodes import ListItem, ParsedAgent
from runtime.language.trigger_words import may_begin

_REPEATS = re.compile(
    r"\b(?:while|until|till|each|every|all|both|repeat\w*|again|loop\w*|times|keep\w*|as long as|back|goto|go|jump\w*"
    r"|steps?|continue\w*|retry|restart|for\s+\$?\w+\s+(?:in|from)|once more|resume|proceed|whenever)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:end\w*|exit\w*|quit\w*|stop\w*|terminat\w*|finish\w*|clos\w*|shut\w*|(?:good)?bye|farewell|done|over|conclude\w*)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMON = frozenset(
    {
        *("user", "users", "with", "that", "this", "then", "them", "they", "their", "there", "from", "into", "have"),
        *("been", "will", "what", "when", "where", "which", "while", "your", "about", "also", "only", "some", "such"),
        *("make", "sure", "step", "steps", "playbook", "agent", "else", "otherwise"),
    }
)


def unfaithful(source: ParsedAgent, compiled: AgentSpec) -> list[str]:
    """The additions, omissions and reversals of a model, in an agent with all its playbooks, triggers and steps."""
    differences = []
    for playbook in source.playbooks:
        spec = compiled.playbook(playbook.name)
        if spec is None or given_steps(playbook.steps, Problems()) is not None:
            continue
        for item, trigger in zip(playbook.triggers, spec.triggers, strict=False):
            if trigger.kind is TriggerKind.BGN and not may_begin(item.text):
                differences.append(f"{playbook.name}: trigger {trigger.code} is not the beginning: CND or EVT")
        found = [
            one
            for item, step in zip(playbook.steps, spec.steps, strict=False)
            for one in _step_differences(f"{playbook.name}:{step.line}", item, step)
        ]
        differences += found or _order_differences(playbook.name, playbook.steps, spec.steps)
    return differences


def _step_differences(where: str, item: ListItem, step: Step) -> Iterator[str]:
    """The differences between a compiled step and its source, as sentences."""
    said, compiled = _text(item), _compiled(step)
    if any(inner.op is Op.JMP for inner in step.walk()) and not _REPEATS.search(said):
        yield f"{where} jumps, and nothing is repeated in the source"
    if re.search(r"\bYLD (?:for )?exit\b", compiled) and not _ENDS.search(said):
        yield f"{where} ends the program, and the source does not"
    for text in quoted(said):
        if squeezed(text) not in squeezed(compiled):
            yield f'{where} has lost "{text}" of the source'
    yield from _conditions(where, item, step)


def _order_differences(playbook: str, items: Sequence[ListItem], steps: Sequence[Step]) -> Iterator[str]:
    """Neighbouring steps in the wrong order: each matches the other's source better than its own."""
    pairs = [(_stems(_text(item)), _stems(_compiled(step))) for item, step in zip(items, steps, strict=False)]
    for number, ((first, one), (second, two)) in enumerate(pairwise(pairs)):
        if len(first & one) + len(second & two) < len(first & two) + len(second & one):
            yield f"{playbook}: {steps[number].line} and {steps[number + 1].line} are not in the order of the source"


def _conditions(where: str, item: ListItem, step: Step) -> Iterator[str]:
    """Conditions with steps below them that are no longer conditions."""
    bare = phrases.PREFIX.sub("", phrases.plain(item.text))
    conditional = any(pattern.match(bare) for pattern in (phrases.BRANCH, phrases.LOOP, phrases.ELSE))
    if conditional and item.children and step.children and step.op not in (Op.CND, Op.LOP, Op.ELS):
        yield f"{where} must be CND: {item.text}"
    below = [inner for inner in step.children if inner.op is not Op.JMP]
    if len(below) == len(item.children):
        for child, inner in zip(item.children, below, strict=True):
            yield from _conditions(f"{where.partition(':')[0]}:{inner.line}", child, inner)


def _text(item: ListItem) -> str:
    return "\n".join(inner.text for inner in item.walk())


def _compiled(step: Step) -> str:
    return "\n".join(f"{inner.op} {inner.text}" for inner in step.walk())


def _stems(text: str) -> frozenset[str]:
    words = (word.lower() for word in _WORD.findall(phrases.spaced(text)))
    return frozenset(word[:5] for word in words if word not in _COMMON)
