"""The forms of what a talk expects and forbids."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Any

from gateway.talks import talk as forms
from runtime.language.diagnostics import SourceLine
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.program import AgentKind, AgentSpec, Param, PlaybookSpec, Program

_OTHERS = re.compile(r"(?:…|\.\.\.)\s*\)$")
"""The end of a call with any other arguments; Python allows two stars there, behind those by name too."""
_END = re.compile(r"(?:(?:the )?end(?: of the program)?|the program ends|end program)\.?$", re.IGNORECASE)
_STEP = re.compile(r"steps?\s+(?:(?P<agent>\w+)\.)?(?P<playbook>\w+)(?::(?P<number>\d\d(?:\.\d\d)*))?(?::[A-Z]{3})?$")
_CALL = re.compile(r"calls?\s+(?P<call>.+)$", re.DOTALL)
_CHOICES = re.compile(r"choices?\s*:?\s+(?P<labels>.+)$")
_FAILURE = re.compile(r"failures?\b\s*:?\s*(?P<words>.*)$", re.DOTALL)
_RESULT = re.compile(r"results?\b\s*:?\s*(?P<words>.+)$", re.DOTALL)
_QUOTED = re.compile(r'(?:words\s+)?(?:"(?P<text>.+)"|“(?P<other>.+)”|(?P<regular>/.+/))$', re.DOTALL)
_HEARS = re.compile(r"(?P<agent>\w+)\s+hears\s+(?P<words>.+)$", re.DOTALL)
_VARIABLE = re.compile(r"(?:(?P<agent>\w+)\.)?(?P<test>\$.+)$", re.DOTALL)
_ASSIGNED = re.compile(r"(\$[\w.\[\]\"']+)\s*=(?!=)\s*")
_FORMS = (
    'Write `expect: step Main:02`, `expect: call LookUp(id="1")`, `expect: $total is 3`, `expect: "words"`, '
    '`expect: /pattern/`, `expect: choices Yes, No`, `expect: result "words"`, `expect: failure` or `expect: the end`.'
)
_WORDS = ("step", "call", "choices", "result", "failure", "end", "words")


class WrongItem(Exception):
    """What is wrong with an item of a talk, and what to do: at its first character, or another column."""

    def __init__(self, message: str, *, hint: str = "", column: int | None = None, width: int = 0) -> None:
        super().__init__(message)
        self.hint = hint
        self.column = column
        self.width = width


def check_regular(wording: forms.ExpectedWording, line: SourceLine) -> None:
    """Raise WrongItem for a regular expression that is none."""
    try:
        wording.fits("")
    except re.error as error:
        raise WrongItem(f"this regular expression is wrong: {error}", column=line.text.find("/") + 1) from error


class FactReader:
    """Reads them for one program. Raises WrongItem."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._forms: Sequence[tuple[re.Pattern[str], Callable[[SourceLine, re.Match[str]], forms.TalkFact]]] = (
            (_END, lambda line, _: forms.ExpectedEnd(line.number)),
            (_STEP, self._step),
            (_CALL, self._call),
            (_CHOICES, self._choices),
            (_FAILURE, partial(self._worded, forms.ExpectedFailure)),
            (_RESULT, partial(self._worded, forms.WorkReturns)),
            (_HEARS, self._hears),
            (_QUOTED, partial(self._worded, forms.HeardByAny)),
            (_VARIABLE, self._holds),
        )

    def read(self, line: SourceLine, text: str) -> forms.TalkFact:
        for form, read in self._forms:
            found = form.match(text)
            if found is not None:
                return read(line, found)
        word = re.match(r"\w+", text)
        near = get_close_matches(word[0].lower(), _WORDS, n=1, cutoff=0.6) if word else []
        hint = f"Did you mean `{near[0]}`? {_FORMS}" if near else _FORMS
        raise WrongItem("nothing of this form can be expected", hint=hint)

    def read_words(self, line: SourceLine, text: str, words: str) -> forms.TalkFact:
        """The fact in a text with a fence below, which has the words."""
        hears = re.fullmatch(r"\w+\s+hears", text)
        if text and text not in ("words", "failure", "result") and not hears:
            hint = "A fence stands below `expect:`, `expect: failure`, `expect: result` or `expect: Scout hears`."
            raise WrongItem("no fence belongs to this", hint=hint)
        return self.read(line, f'{text} "{words}"'.strip())

    def _worded(
        self, kind: Callable[[int, forms.ExpectedWording], forms.TalkFact], line: SourceLine, found: re.Match[str]
    ) -> forms.TalkFact:
        return kind(line.number, self._wording(line, found.groupdict().get("words", found[0])))

    def _hears(self, line: SourceLine, found: re.Match[str]) -> forms.TalkFact:
        played = [spec.name for spec in self._program.agents if spec.kind is AgentKind.REMOTE]
        if not _QUOTED.match(found["words"]) or found["agent"] not in played:
            hint = f'Write the words in quotes: {played[0] if played else "Scout"} hears "north"'
            raise WrongItem(f"{found['agent']} is no agent in another process", hint=hint)
        return forms.ExpectedTelling(line.number, found["agent"], self._wording(line, found["words"]))

    def _wording(self, line: SourceLine, words: str) -> forms.ExpectedWording:
        """Words in quotes, a pattern between slashes, or any other words as they stand."""
        quoted = _QUOTED.match(words)
        text = (quoted["regular"] or quoted["text"] or quoted["other"]) if quoted else words
        wording = forms.ExpectedWording(text, whole=False)
        check_regular(wording, line)
        return wording

    def _choices(self, line: SourceLine, found: re.Match[str]) -> forms.TalkFact:
        return forms.ExpectedChoices(
            line.number, tuple(label.strip().strip('"') for label in found["labels"].split(","))
        )

    # -- steps and calls

    def _step(self, line: SourceLine, found: re.Match[str]) -> forms.TalkFact:
        agent, playbook = self._playbook(found["agent"] or "", found["playbook"])
        number = found["number"] or ""
        steps = [step.line for step in playbook.walk_steps()]
        if not steps:
            hint = f"Write `expect: call {playbook.name}`."
            raise WrongItem(f"{playbook.name} has no steps", hint=hint)
        if number and number not in steps:
            raise WrongItem(f"{playbook.name} has no step {number}", hint=f"Its steps are {', '.join(steps)}.")
        return forms.ExpectedStep(line.number, agent.name, playbook.name, number)

    def _playbook(self, agent: str, name: str) -> tuple[AgentSpec, PlaybookSpec]:
        agents = [spec for spec in self._program.agents if agent in ("", spec.name)]
        every = [(spec, playbook) for spec in agents for playbook in spec.playbooks]
        found = next(((spec, playbook) for spec, playbook in every if playbook.name == name), None)
        if found is None:
            raise self._unknown(agent, name, [playbook.name for _, playbook in every])
        return found

    def _unknown(self, agent: str, name: str, known: Sequence[str]) -> WrongItem:
        agents = [spec.name for spec in self._program.agents]
        wanted, among = (agent, agents) if agent and agent not in agents else (name, known)
        near = get_close_matches(wanted, among, n=1, cutoff=0.6)
        what = f"the program has no agent {agent}" if among is agents else f"the program has no playbook {name}"
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(sorted(set(among))) or 'none'}."
        return WrongItem(what, hint=hint)

    def _call(self, line: SourceLine, found: re.Match[str]) -> forms.TalkFact:
        source = _OTHERS.sub("**others)", found["call"].strip())
        try:
            tree = ast.parse(source, mode="eval").body
            function, arguments = (tree.func, tree) if isinstance(tree, ast.Call) else (tree, None)
            agent, _, name = ast.unparse(function).rpartition(".")
            if not isinstance(function, ast.Name | ast.Attribute):
                raise ValueError(source)
            given = None if arguments is None else _arguments(arguments)
        except (SyntaxError, ValueError) as error:
            hint = 'Write the name, or the name with its arguments: LookUp(id="1", …)'
            raise WrongItem("this is no call", hint=hint) from error
        spec = self._program.agent(agent) if agent else None
        if spec is not None and spec.kind.on_server:
            return self._called(line, agent, name, given, ())
        return self._called(line, agent, name, given, self._playbook(agent, name)[1].params)

    def _called(
        self,
        line: SourceLine,
        agent: str,
        name: str,
        given: tuple[list[Any], dict[str, Any], bool] | None,
        takes: Sequence[Param],
    ) -> forms.TalkFact:
        if given is None:
            return forms.ExpectedCall(line.number, agent, name)
        params = [param.name for param in takes]
        values, named, open_end = given
        if len(values) > len(params):
            raise WrongItem(f"{name} takes fewer arguments", hint=f"Its parameters: {', '.join(params)}.")
        for key in named:
            if params and key not in params:
                near = get_close_matches(key, params, n=1, cutoff=0.6)
                hint = f"Did you mean {near[0]}?" if near else f"Its parameters: {', '.join(params)}."
                raise WrongItem(f"{name} has no parameter {key}", hint=hint)
        arguments = {**dict(zip(params, values, strict=False)), **named}
        return forms.ExpectedCall(line.number, agent, name, arguments, open_end, _defaults(takes))

    # -- values

    def _holds(self, line: SourceLine, found: re.Match[str]) -> forms.TalkFact:
        words = found["test"].strip().rstrip(".")
        test = read_condition(_ASSIGNED.sub(r"\1 == ", words, count=1))
        agent = found["agent"] or ""
        if test is None or test.calls:
            hint = 'Write a condition as in steps: $total is at least 3, $name = "Ada", $order["status"] is "shipped"'
            raise WrongItem("this condition is not exact", hint=hint)
        agents = [spec.name for spec in self._program.agents]
        if agent and agent not in agents:
            raise self._unknown(agent, "", agents)
        return forms.ExpectedCondition(line.number, agent, words, test)


def _defaults(params: Sequence[Param]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for param in params:
        with suppress(SyntaxError, ValueError):
            found |= {} if param.default is None else {param.name: ast.literal_eval(param.default)}
    return found


def _arguments(call: ast.Call) -> tuple[list[Any], dict[str, Any], bool]:
    """Literal arguments in order and by name, and whether others may come besides. Raises ValueError."""
    values = [ast.literal_eval(value) for value in call.args]
    spread = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg is None]
    if spread not in ([], ["others"]):
        raise ValueError(ast.unparse(call))
    named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    return values, named, bool(spread)
