"""Steps that break off: open brackets and quotations, sentences without their end, loops over nothing.

English is forgiven what it does: apostrophes, inches, smileys, `a)`, and sentences that end in a preposition.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator
from itertools import islice

from runtime.authoring.findings import Finding, SourceLines, as_written, did_you_mean, nodes_of
from runtime.language.diagnostics import Span
from runtime.language.first_implementation import NAMED_IN_PLACEHOLDERS
from runtime.language.instructions.text import QUOTED, without_inner_quotes
from runtime.language.placeholders import placeholders
from runtime.language.program import AgentSpec, PlaybookSpec, Program, Step, coded
from runtime.language.syntax.signature import parse_python
from runtime.language.value_types import VARIABLE, variable_name
from runtime.language.vocabulary.phrase import phrase, words_of

_CODE = re.compile(r"`[^`]*`")
_ESCAPED = re.compile(r"\\.")
_INCHES = re.compile(r"(?<=\d)\"(?=[\s\w,.;)-]|\Z)")
_NO_BRACKETS = re.compile(
    r"(?<!\S)[:;]['-]?[()\[\]]+(?!\w)|[:;]['-]?\)+(?!\w)|(?<![\w(])(?:\w|\d{2,3}|[ivx]{2,4})(?:\.\w{1,2})*\)"
    r"|[\[(]\s*[-+\w.$]+\s*,\s*[-+\w.$]*\s*[)\]]"
)
"""Smileys, the marks of enumerations, and ranges such as `[0, 10)`."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_NAMES = {"(": "parenthesis", "[": "bracket", "{": "brace"}

_OPERATORS = frozenset((*"-+*/%=<>", "and", "or", "not"))
_WHOLE = {
    "ask": "Ask the user for their $name",
    "say": 'Say "Hello"',
    "tell": "Tell the user what we have",
    "set": "Set $count to 5",
    "let": "Set $count to 5",
    "go": "Go to step 2",
    "jump": "Go to step 2",
    "wait": "Wait for the user",
    "remember": "Remember that the user is a vegetarian",
}


def unfinished_steps(playbook: PlaybookSpec, lines: SourceLines) -> Iterator[Finding]:
    """A warning about each step in prose that breaks off."""
    if playbook.kind != "llm":
        return
    sentences: dict[Span, Step] = {}
    for step in playbook.walk_steps():
        sentences.setdefault(step.span, step)  # of what a sentence became, the first
    for step in sentences.values():
        written = as_written(step.span, lines)
        text = " ".join((written[step.span.column - 1 :] or step.text).split())
        if not coded(text):
            yield from islice(_of_step(step, text), 1)


def _of_step(step: Step, written: str) -> Iterator[Finding]:
    text = _without_inches(without_inner_quotes(_ESCAPED.sub("", _CODE.sub("``", written))))
    text = _INCHES.sub("", text) if text.count('"') % 2 else text
    yield from _quotations(step.span, text)
    bare = QUOTED.sub('""', text)
    yield from _brackets(step.span, bare)
    yield from _placeholders(step.span, text)
    yield from _ends(step, bare.strip().rstrip(".").rstrip(), written)


def _without_inches(text: str) -> str:
    """A text without marks of inches where a quotation would begin: `12" at most "yes` has one that is not closed."""
    *parts, whole = reversed(text.split('"'))
    inside = False
    for part in reversed(parts):
        inch = not inside and whole[-1:].isdigit()
        inside = inside if inch else not inside
        whole += part if inch else f'"{part}'
    return whole


def _quotations(span: Span, text: str) -> Iterator[Finding]:
    if text.count('"') % 2 or ("„" not in text and text.count("“") > text.count("”")):
        said = text[max(text.rfind('"'), text.rfind("“")) :]
        yield Finding(span, "a quotation is never closed", 'Write " at its end.', said)
    elif assigned := phrase("value").begins(text):
        said = assigned["what"]
        if said.startswith("'") and said.count("'") == 1:
            yield Finding(span, "a quotation is never closed", "Write ' at its end.", said)


def _brackets(span: Span, text: str) -> Iterator[Finding]:
    left: list[tuple[str, str]] = []
    bare = _NO_BRACKETS.sub(lambda match: "" if _is_no_bracket(text, match) else match[0], text)
    for place, char in enumerate(bare):
        if char in _PAIRS:
            left.append((char, bare[:place]))
        elif char in _PAIRS.values():
            if left and _PAIRS[left[-1][0]] == char:
                left.pop()
            elif left:
                yield _never_closed(span, left[-1], bare)
            else:
                opening = next(one for one, end in _PAIRS.items() if end == char)
                hint = f"Write {opening} where it begins, or leave it out."
                yield Finding(span, f"nothing opens this {_NAMES[opening]}", hint, char)
    if left:
        opening, before = left[0]
        is_call = opening == "(" and before[-1:].isalnum() and "$" not in before.split(" ")[-1]
        if not is_call:
            yield _never_closed(span, left[0], bare)


def _is_no_bracket(text: str, match: re.Match[str]) -> bool:
    """Whether brackets that may be a smiley, a mark or a range are one: a pair is read as any other."""
    said = match[0]
    if said[0] in _PAIRS:
        return _PAIRS[said[0]] != said[-1]
    return not (said[-1] == ")" and text[: match.start()].count("(") > text[: match.start()].count(")"))


def _never_closed(span: Span, opened: tuple[str, str], text: str) -> Finding:
    opening, before = opened
    hint = f"Write {_PAIRS[opening]} where it ends, and what belongs between them."
    return Finding(span, f"a {_NAMES[opening]} is never closed", hint, text[len(before) :])


def _placeholders(span: Span, text: str) -> Iterator[Finding]:
    for quoted in QUOTED.findall(text):
        said = quoted[1:-1]
        opened, closed = said.rpartition("{")[2].strip(), said.partition("}")[0].rstrip()
        if said.count("{") > said.count("}") and (found := VARIABLE.match(opened)):
            yield Finding(span, "a placeholder is never closed", f"Write {{{found[0]}}}.", found[0])
        elif said.count("}") > said.count("{") and (found := VARIABLE.match(closed, closed.rfind("$"))):
            yield Finding(span, "nothing opens this placeholder", f"Write {{{found[0]}}}.", found[0])


def _ends(step: Step, text: str, written: str) -> Iterator[Finding]:
    if match := phrase("no value").begins(text):
        hint = f"Write what it is to be: Set {match['what']} to 5."
        yield Finding(step.span, f"no value is given for {match['what']}", hint, match["what"])
    elif (assigned := phrase("value").begins(text)) and (last := _last_of(assigned["what"])).lower() in _OPERATORS:
        yield Finding(step.span, f"nothing follows `{last}`", "Write the rest of the expression.", written)
    elif phrase("over an empty list").begins(text):
        yield Finding(step.span, "this loop is over nothing: what is below it is never done", word=written)
    elif phrase("over nothing").is_all_of(text.rstrip(" ,:")):
        hint = "Write what to go through: For each $item in $items."
        yield Finding(step.span, f"`{written}` says nothing to go through", hint, written)
    elif phrase("nothing compared").begins(text.rstrip(" ,:")):
        yield Finding(step.span, "the condition has no end", "Write what to compare with: If $count is 5.", written)
    elif not step.children and not text.endswith(":"):
        yield from _words(step.span, text, written)


def _words(span: Span, text: str, written: str) -> Iterator[Finding]:
    if phrase("verb alone").is_all_of(text) or phrase("to whom alone").is_all_of(text):
        whole = _WHOLE.get(text.split()[0].casefold(), "Find the order with $number")
        yield Finding(span, f"`{written}` does not say all of it", f"Write the rest, as in: {whole}.", written)
    elif (last := _last_of(text)) in words_of("dangling"):
        yield Finding(span, f"nothing follows `{last}`", "Write the rest of the sentence, or leave it out.", written)


def _last_of(text: str) -> str:
    """The last of several words; "" for one alone."""
    return (text.split()[1:] or [""])[-1]


class PlaceholderLint:
    """The placeholders of descriptions and steps. `built_in` are the names that can be called everywhere."""

    def __init__(self, program: Program, built_in: Collection[str]) -> None:
        self._everywhere = {*dir(builtins), *built_in, *NAMED_IN_PLACEHOLDERS, "agent", "self"}
        self._everywhere |= {agent.name for agent in program.agents}

    def in_agent(self, agent: AgentSpec) -> Iterator[Finding]:
        """Findings in the agent's playbooks."""
        own = {*defined_in(agent), *_variables(agent), *(playbook.name for playbook in agent.playbooks)}
        for playbook in agent.playbooks:
            if playbook.kind != "llm":
                continue
            texts = [(playbook.span, playbook.description), *((one.span, one.text) for one in playbook.walk_steps())]
            for span, said, name in ((span, *found) for span, text in texts for found in _names(text)):
                if name not in own | self._everywhere:
                    hint = did_you_mean(name, own) or "Name a variable, a playbook, or what the agent's Python defines."
                    yield Finding(span, f"nothing is called {name} in {{{said}}}", hint, name)


def _names(text: str) -> Iterator[tuple[str, str]]:
    """The placeholders of a text with each name that they read without a `$`."""
    for found in placeholders(text):
        if not found.code:
            continue
        nodes = [node for node in ast.walk(parse_python(found.code)) if isinstance(node, ast.Name)]
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        read = dict.fromkeys(variable_name(node.id) for node in nodes if isinstance(node.ctx, ast.Load))
        yield from ((found.said, name) for name in read if name not in stored and name not in found.variables)


def _variables(agent: AgentSpec) -> set[str]:
    names = {param.name for playbook in agent.playbooks for param in playbook.params}
    texts = "\n".join(text for one in agent.playbooks for text in (one.description, *one.texts))
    return names.union(VARIABLE.findall(texts))


def defined_in(agent: AgentSpec) -> Iterator[str]:
    """The names that the agent's Python defines, and the variables that it sets by `agent.state`."""
    for node in nodes_of(agent):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield (other or name).partition(".")[0]
