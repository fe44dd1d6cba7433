"""From Markdown to the syntax tree: tolerant with people's habits, strict with mistakes that would be silent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from runtime.language.diagnostics import DiagnosticList, Span
from runtime.language.program import AgentKind, PythonFence
from runtime.language.remote import PARTICIPANT_NAME
from runtime.language.syntax.blocks import (
    Block,
    FencedBlock,
    HeadingLine,
    Section,
    TextLine,
    first_line,
    scan,
    split,
    underlined,
)
from runtime.language.syntax.fences import PUBLIC_JSON, is_python, read_fence
from runtime.language.syntax.humans import PERSON_KEYS, check_people
from runtime.language.syntax.listing import is_item, is_rule, read_list
from runtime.language.syntax.metadata import (
    AGENT_KEYS,
    MEETING_KEYS,
    PLAYBOOK_KEYS,
    loose_setting,
    read_preamble,
)
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.syntax.signature import agent_name, read_signature
from runtime.language.syntax.source import ProgramText, is_compiled

_SECTIONS = {
    "triggers": "triggers",
    "trigger": "triggers",
    "steps": "steps",
    "step": "steps",
    "notes": "notes",
    "note": "notes",
}
_ITEM_OF = {"triggers": "trigger", "steps": "step", "notes": "note"}
_MOST_AGENTS = 1000
_FIRST = "A program starts with an agent: # Name"
_OF_A_SERVER = (
    "a remote agent cannot have its own playbooks or Python",
    "Its playbooks are the tools of its server; move this below another agent.",
)
_NOTHING_OF_ITS_OWN: Mapping[AgentKind, tuple[str, str]] = {
    AgentKind.REMOTE: (
        "an agent in another process has no playbooks and no Python here",
        "Put this below another agent.",
    ),
    AgentKind.MCP: _OF_A_SERVER,
    AgentKind.A2A: _OF_A_SERVER,
}
"""The kinds of agents without playbooks and Python, each with the error and the hint for one that has some."""


def parse(source: ProgramText) -> ParsedProgram:
    """The tree of a program. Raises ProgramRejected with all of its errors."""
    problems = DiagnosticList()
    parsed = parse_most(source, problems)
    problems.stop_if_any(parsed.lines)
    return parsed


def parse_most(source: ProgramText, problems: DiagnosticList) -> ParsedProgram:
    """The tree of what can be read of a program; errors are noted. Raises ProgramRejected where that is nothing."""
    blocks = scan(source.lines, problems)
    before, sections = split(blocks, 1)
    for line, meant in underlined(blocks):
        tell = problems.warn if sections and line.number > sections[0][0].line.number else problems.at
        tell(line, "an underlined line is no heading here", hint=f"Write `{meant}`.")
    for block in before:
        if isinstance(block, HeadingLine):
            what = "a playbook" if block.level == 2 else "a section"
            problems.at(block.line, f"{what} before any agent", hint=_FIRST)
    _warn_of_unused(before, problems)
    if len(sections) > _MOST_AGENTS:
        message, hint = f"a program may have {_MOST_AGENTS:,} agents", "`CreateAgent` makes many of a kind."
        problems.at(sections[_MOST_AGENTS][0].line, message, hint=hint)
        problems.stop_if_any()
    texts = _agent_texts(source, sections)
    read = (_AgentReader(section, text, problems).read() for section, text in zip(sections, texts, strict=True))
    agents = [agent for agent in read if agent is not None]
    if not sections and not problems:
        file = source.files[0] if source.files else "<none>"
        problems.at_span(Span(file, 1), "the program has no agent", hint=_FIRST)
        problems.stop_if_any()
    _refuse_duplicates("an agent", agents, problems)
    _refuse_second_entry(agents, problems)
    _name_attendees(agents)
    if not problems:
        check_people(agents, problems)
    lines = {(line.file, line.number): line.text[line.shift :] for line in source.lines}
    if not agents:
        problems.stop_if_any(lines)
    return ParsedProgram(source.name, tuple(agents), source.metadata, problems.warnings, lines)


def _warn_of_unused(before: Sequence[Block], problems: DiagnosticList) -> None:
    """Warn of text before the first agent: it belongs to nobody."""
    lines = map(first_line, before)
    unused = next((line for line in lines if line.text.strip() and not is_rule(line.text)), None)
    if unused is not None:
        hint = "Put it below a heading, or into a comment: <!-- … -->."
        problems.warn(unused, "text before the first agent is not used", hint=hint)


def _refuse_duplicates(
    what: str, named: Sequence[ParsedAgent] | Sequence[ParsedPlaybook], problems: DiagnosticList
) -> None:
    seen: dict[str, Span] = {}
    for one in named:
        if one.name in seen:
            problems.at_span(one.span, f"there is {what} {one.name} already, at {seen[one.name]}")
        seen.setdefault(one.name, one.span)


def _refuse_second_entry(agents: list[ParsedAgent], problems: DiagnosticList) -> None:
    entries = [one for agent in agents for one in agent.playbooks if one.metadata.get("cli_entry") is True]
    for entry in entries[1:]:
        message = f"a program has one entry for the command line, and it is {entries[0].name}, at {entries[0].span}"
        problems.at_span(entry.span, message)


def _name_attendees(agents: list[ParsedAgent]) -> None:
    """Replace attendees by the names of the program's agents: "Head Chef" is HeadChef."""
    names = {agent.name for agent in agents}
    for playbook in (playbook for agent in agents for playbook in agent.playbooks):
        for key in MEETING_KEYS:
            said = playbook.metadata.get(key)
            if isinstance(said, list) and isinstance(playbook.metadata, dict):
                made = [(one, agent_name(str(one))) for one in said]
                playbook.metadata[key] = [name if name in names else one for one, name in made]


class _AgentReader:
    def __init__(self, section: Section, text: str, problems: DiagnosticList) -> None:
        self._heading, self._body = section
        self._text = text
        self._problems = problems
        self._fences: list[PythonFence] = []
        self._functions: list[ParsedPlaybook] = []
        self._entries: set[str] = set()

    def read(self) -> ParsedAgent | None:
        named = self._name_and_kind()
        blocks = [block for block in self._body if not self._take_fence(block)]
        before, sections = split(blocks, 2)
        for block in before:
            if isinstance(block, HeadingLine):
                hint = "Triggers, steps and notes belong below a playbook: ## Name"
                if not (sections or self._functions):
                    line, said = self._heading.line, self._heading.text
                    message = f"### {block.text} stands below an agent that has no playbook"
                    self._problems.at(line, message, hint=f"Did you mean ## {said}? {hint}")
                    break
                self._problems.at(block.line, f"### {block.text} before any playbook of this agent", hint=hint)
        keys = PERSON_KEYS if named is not None and named[1] is AgentKind.HUMAN else AGENT_KEYS
        preamble = read_preamble(before, keys, self._problems)
        playbooks = [*self._functions, *filter(None, (self._playbook(section) for section in sections))]
        playbooks = [self._with_entry(playbook) for playbook in playbooks]
        _refuse_duplicates("a playbook", playbooks, self._problems)
        if named is None:
            return None
        name, kind = named
        kind = self._remote_kind(kind, preamble.metadata)
        line = self._heading.line
        places = [*(playbook.span for playbook in playbooks), *(fence.span for fence in self._fences)]
        if kind in _NOTHING_OF_ITS_OWN and places:
            message, hint = _NOTHING_OF_ITS_OWN[kind]
            self._problems.at_span(places[0], message, hint=hint)
        return ParsedAgent(
            name,
            kind,
            line.span(self._heading.column),
            self._text,
            is_compiled(line.file),
            preamble.description,
            preamble.metadata,
            tuple(playbooks),
            tuple(self._fences),
        )

    def _remote_kind(self, kind: AgentKind, metadata: Mapping[str, Any]) -> AgentKind:
        """MCP or A2A where there is `remote:`, else the kind of the heading."""
        line = self._heading.line
        if kind is AgentKind.REMOTE:
            self._check_elsewhere(metadata)
            return kind
        if kind.on_server and "remote" not in metadata:
            more = ", transport and url or command" if kind is AgentKind.MCP else " and url"
            hint = f"Below the heading: remote: with type: {kind.lower()}{more}."
            self._problems.at(line, f"an {kind} agent needs to know where its server is", hint=hint)
        if "remote" not in metadata:
            return kind
        said = metadata["remote"].get("type") if isinstance(metadata["remote"], dict) else None
        if kind.on_server and said in ("mcp", "a2a") and said != kind.lower():
            self._problems.at(
                line, f"an {kind} agent has no server of `type: {said}`", hint=f"Write # Name:{said.upper()}."
            )
        if kind is AgentKind.HUMAN:
            self._problems.at(line, "a person has no `remote`", hint="Write # Name:MCP for a server of tools.")
        return AgentKind.A2A if said == "a2a" else AgentKind.MCP

    def _check_elsewhere(self, metadata: Mapping[str, Any]) -> None:
        """Check an agent that runs in another process."""
        line = self._heading.line
        if "remote" in metadata:
            hint = "Write # Name:MCP for a server of tools, and # Name:Remote for a participant that connects here."
            self._problems.at(line, "an agent in another process has no `remote`", hint=hint)
        said = metadata.get("participant")
        if said is not None and not PARTICIPANT_NAME.fullmatch(str(said)):
            hint = "Small letters, digits, - and _, such as participant: scout."
            self._problems.at(line, f"{said!r} cannot be the name of a participant", hint=hint)

    def _name_and_kind(self) -> tuple[str, AgentKind] | None:
        heading = self._heading
        title, colon, kind = heading.text.rpartition(":")
        if not colon:
            title, kind = heading.text, AgentKind.AI.value
        column = heading.column
        name = agent_name(title.strip())
        if name is None:
            hint = "For example: # Support Agent, or # Alice:Human"
            self._problems.at(heading.line, "an agent needs a name that begins with a letter", column=column, hint=hint)
            return None
        kinds = [known.value for known in AgentKind]
        if kind.strip() not in kinds:
            hint = f"Expected one of {', '.join(kinds)}."
            message = f"there is no agent type {kind.strip()!r}"
            place = column + len(title) + 1 + (len(kind) - len(kind.lstrip()))
            self._problems.at(heading.line, message, column=place, hint=hint)
            return None
        return name, AgentKind(kind.strip())

    def _take_fence(self, block: Block) -> bool:
        if not isinstance(block, FencedBlock):
            return False
        if is_python(block):
            if block.indent >= 2 and block.lines:
                hint = "Put the Python of a step into a separate playbook, marked @playbook."
                self._problems.warn(
                    block.opening, "this is executed once for the agent, not as part of a step", hint=hint
                )
            fence, functions = read_fence(block, self._problems)
            self._fences.append(fence)
            self._functions += functions
            return True
        if block.language == PUBLIC_JSON:
            self._check_json(block)
            return True
        return False

    def _with_entry(self, playbook: ParsedPlaybook) -> ParsedPlaybook:
        """Read the entry as older compilers wrote it: in JSON, beside the playbooks."""
        if playbook.name not in self._entries or "cli_entry" in playbook.metadata:
            return playbook
        return replace(playbook, metadata={**playbook.metadata, "cli_entry": True})

    def _check_json(self, fence: FencedBlock) -> None:
        try:
            announced = json.loads("\n".join(line.text for line in fence.lines))
            entries = [one for one in announced if isinstance(one, dict)] if isinstance(announced, list) else []
            self._entries |= {str(one.get("name")) for one in entries if one.get("cli_entry") is True}
        except json.JSONDecodeError as error:
            line = fence.lines[min(error.lineno, len(fence.lines)) - 1] if fence.lines else fence.opening
            self._problems.at(line, f"this is not JSON: {error.msg}", column=error.colno)
        except RecursionError:
            self._problems.at(fence.opening, "this JSON is too deeply nested")

    def _playbook(self, section: Section) -> ParsedPlaybook | None:
        heading, body = section
        signature = read_signature(heading, self._problems)
        before, parts = split(body, 3)
        lists: dict[str, tuple[ListItem, ...]] = {}
        for part, blocks in parts:
            kind = self._section_kind(part)
            if kind is None:
                before += [part, *blocks]
            elif kind in lists:
                if _section_name(part) in _SECTIONS:
                    self._problems.at(part.line, f"### {part.text} is given twice", hint="Put both lists into one.")
            else:
                before += [block for block in blocks if _is_setting(block)]
                lists[kind] = self._list(kind, [block for block in blocks if not _is_setting(block)])
        preamble = read_preamble(before, PLAYBOOK_KEYS, self._problems)
        metadata, description = preamble.metadata, preamble.description
        if "steps" not in lists and metadata.get("execution_mode", "playbook") == "playbook":
            if _is_bare_list(preamble.prose):
                lists["steps"], description = read_list(preamble.prose, "step", self._problems), preamble.described
            elif "execution_mode" in metadata:
                hint = "Put them below ### Steps, or choose react or raw."
                self._problems.at(
                    heading.line, "`execution_mode: playbook` needs steps", column=heading.column, hint=hint
                )
        if signature is None:
            return None
        if signature.public:
            metadata.setdefault("public", True)
        return ParsedPlaybook(
            signature.name,
            "llm",
            heading.line.span(heading.column),
            signature.params,
            signature.returns,
            description,
            metadata,
            lists.get("triggers", ()),
            lists.get("steps", ()),
            lists.get("notes", ()),
        )

    def _section_kind(self, heading: HeadingLine) -> str | None:
        """The kind of list below the heading; None for prose."""
        text = _section_name(heading)
        near = [] if text in _SECTIONS else get_close_matches(text, _SECTIONS, n=1, cutoff=0.8)
        if near:
            hint = f"Did you mean ### {_SECTIONS[near[0]].capitalize()}?"
            message = f"there is no section {heading.text!r}"
            self._problems.at(heading.line, message, column=heading.column, hint=hint, width=len(heading.text))
            return _SECTIONS[near[0]]
        return _SECTIONS.get(text)

    def _list(self, kind: str, blocks: Sequence[Block]) -> tuple[ListItem, ...]:
        items = read_list(blocks, _ITEM_OF[kind], self._problems)
        if kind == "steps":
            return items
        return tuple(
            dataclasses.replace(item, text=" ".join(inner.text for inner in item.walk()), children=())
            if item.children
            else item
            for item in items
        )


def _agent_texts(source: ProgramText, sections: list[Section]) -> list[str]:
    """The text of each agent, from its heading to the next."""
    index = {id(line): number for number, line in enumerate(source.lines)}
    starts = [index[id(heading.line)] for heading, _ in sections]
    return [
        "\n".join(line.text for line in source.lines[start:end]).rstrip() + "\n"
        for start, end in zip(starts, [*starts, len(source.lines)][1:], strict=True)
    ]


def _is_bare_list(blocks: Sequence[Block]) -> bool:
    """Whether there is only a list, which then means steps."""
    texts = [block.line.text for block in blocks if isinstance(block, TextLine) and block.line.text.strip()]
    if not texts or any(
        isinstance(block, HeadingLine) or (isinstance(block, FencedBlock) and block.indent < 2) for block in blocks
    ):
        return False
    return is_item(texts[0]) and all(is_item(text) or text[0] in " \t" for text in texts)


def _section_name(heading: HeadingLine) -> str:
    return heading.text.strip("*_: ").lower()


def is_list_heading(heading: HeadingLine) -> bool:
    """Whether triggers, steps or notes stand below a heading."""
    return heading.level == 3 and _section_name(heading) in _SECTIONS


def is_setting(text: str) -> bool:
    """Whether a line among a list's items is a setting of the playbook: `public: true`."""
    return loose_setting(text, PLAYBOOK_KEYS) is not None


def _is_setting(block: Block) -> bool:
    return isinstance(block, TextLine) and is_setting(block.line.text)
