"""From files to a program: read, parse, lower what is no PBAsm yet, check, link."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from msgspec import Struct, json
from msgspec.structs import replace

from runtime.core.errors import ParleyError
from runtime.core.json_text import plain_data
from runtime.language.diagnostics import Diagnostic, DiagnosticList, ProgramRejected, Span
from runtime.language.locking.lock_file import NO_LOCKS, LockedStep, Locks, digest_of, read_locks
from runtime.language.locking.locked_steps import unused_entries, with_locked
from runtime.language.lowering.lowerer import AgentLowerer, LoweredAgent, LoweringReport
from runtime.language.pbasm.notation import build, check_trigger_codes, read_agent, signature
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths

_READING = (".py", ".grammar", ".md")
"""The endings of the files that decide what a program means."""


class CompileProgress(Struct, frozen=True):
    """An agent's state: "cached", "compiled" by the lowerer, "given" as PBAsm or a person, "remote" on a server."""

    agent: str
    how: str
    done: int
    total: int


class CompileResult(Struct, frozen=True):
    """The program, the lowerer's report, the parser's warnings, and the source lines by file and number."""

    program: Program
    report: LoweringReport
    warnings: tuple[Diagnostic, ...] = ()
    lines: Mapping[tuple[str, int], str] = {}


OnProgress = Callable[[CompileProgress], None]


async def compile_program(
    paths: Sequence[str | Path],
    *,
    lowerer: AgentLowerer,
    cache_dir: Path | None = None,
    on_progress: OnProgress | None = None,
    with_locks: bool = True,
) -> CompileResult:
    """Compile files and globs into one program; agents from .pbasm files are taken as they are. Steps that stay free
    are read as the locks beside the files say, unless `with_locks` is False. Agents are lowered at the same time. With
    `cache_dir` what the lowerer makes is kept by source, the places of its lines, lowerer and version. Raises
    ProgramRejected for what the author wrote."""
    source = await to_thread.run_sync(read_paths, paths)
    locks = await to_thread.run_sync(read_locks, source.files) if with_locks else NO_LOCKS
    parsed = parse(source)
    return await compile_parsed(parsed, lowerer=lowerer, cache_dir=cache_dir, on_progress=on_progress, locks=locks)


async def compile_parsed(
    parsed: ParsedProgram,
    *,
    lowerer: AgentLowerer,
    cache_dir: Path | None = None,
    on_progress: OnProgress | None = None,
    locks: Locks = NO_LOCKS,
) -> CompileResult:
    """Compile a syntax tree. Steps that stay free are read as `locks` say."""
    compilation = _Compilation(parsed, lowerer, locks, cache_dir, on_progress)
    problems = DiagnosticList()
    check_trigger_codes(parsed.agents, problems)
    given = {
        agent.name: read_agent(agent, problems)
        for agent in parsed.agents
        if agent.compiled or agent.kind is not AgentKind.AI
    }
    await compilation.lower_all(given.keys(), problems)
    problems.stop_if_any(parsed.lines)
    agents = [given.get(agent.name) or compilation.agents[agent.name] for agent in parsed.agents]
    reports = [compilation.reports[agent.name] for agent in parsed.agents if agent.name not in given]
    report = LoweringReport(
        tuple(note for one in reports for note in one.unclassified),
        tuple(note for one in reports for note in one.decided),
    )
    program = build(parsed.name, agents, parsed.metadata)
    unused = (entry.unused for entry in unused_entries(locks, compilation.used))
    return CompileResult(program, report, (*parsed.warnings, *unused), parsed.lines)


class _Compilation:
    def __init__(
        self,
        parsed: ParsedProgram,
        lowerer: AgentLowerer,
        locks: Locks,
        cache_dir: Path | None,
        on_progress: OnProgress | None,
    ) -> None:
        self.agents: dict[str, AgentSpec] = {}
        self.reports: dict[str, LoweringReport] = {}
        self.used: list[LockedStep] = []
        self._parsed = parsed
        self._lowerer = lowerer
        self._locks = locks
        self._cache_dir = cache_dir
        self._on_progress = on_progress
        self._done = 0
        self._errors: list[ParleyError] = []

    async def lower_all(self, given: Collection[str], problems: DiagnosticList) -> None:
        """Lower all agents but those that are given as they are. What an author has to correct is noted."""
        for agent in self._parsed.agents:
            if agent.name in given:
                self._tell(agent.name, "remote" if agent.kind.on_server else "given")
        async with anyio.create_task_group() as group:
            for agent in self._parsed.agents:
                if agent.name not in given:
                    group.start_soon(self._lower, agent)
        for error in self._errors:
            if not isinstance(error, ProgramRejected):
                raise error
            problems.take(error.diagnostics)

    async def _lower(self, agent: ParsedAgent) -> None:
        path = self._cache_path(agent)
        cached = await to_thread.run_sync(_read_cache, path, agent) if path else None
        try:
            lowered = cached or await self._lowerer.lower(agent, self._parsed)
        except ParleyError as error:
            self._errors.append(error)
            return
        if path and not cached:
            await to_thread.run_sync(_write_cache, path, lowered)
        completed, used = with_locked(lowered, agent, self._parsed, self._locks)
        self.agents[agent.name] = completed.spec
        self.reports[agent.name] = completed.report
        self.used += used
        self._tell(agent.name, "cached" if cached else "compiled")

    def _tell(self, agent: str, how: str) -> None:
        self._done += 1
        if self._on_progress is not None:
            self._on_progress(CompileProgress(agent, how, self._done, len(self._parsed.agents)))

    def _cache_path(self, agent: ParsedAgent) -> Path | None:
        if self._cache_dir is None:
            return None
        digest = digest_of((_reading(), self._lowerer.fingerprint, repr(agent), *_interface(self._parsed)))
        readable = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in agent.name)
        return self._cache_dir / f"{readable}_{digest[:32]}.json"


@cache
def _reading() -> str:
    """A digest of the code that reads programs: what another one has read is not taken for what this one reads."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in _READING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _interface(parsed: ParsedProgram) -> list[str]:
    """What a lowerer sees besides its own agent's text: of all agents, and whether the program has a memory."""
    agents = (f"{agent.name}:{agent.kind} {' '.join(map(signature, agent.playbooks))}" for agent in parsed.agents)
    return [f"memory: {parsed.metadata.get('memory')}", *agents]


def _read_cache(path: Path, source: ParsedAgent) -> LoweredAgent | None:
    """The cached result, or None; a truncated file or one of another kind counts as none."""
    try:
        found = json.decode(path.read_bytes(), type=LoweredAgent)
        given = zip(found.spec.playbooks, source.playbooks, strict=True)
        playbooks = tuple(replace(one, metadata=dict(parsed.metadata)) for one, parsed in given)
    except (OSError, ValueError):
        return None
    return replace(found, spec=replace(found.spec, metadata=dict(source.metadata), playbooks=playbooks))


def _write_cache(path: Path, lowered: LoweredAgent) -> None:
    """Store a result without metadata, which are the source's, and may have values that JSON does not."""
    playbooks = tuple(replace(one, metadata={}) for one in lowered.spec.playbooks)
    stored = replace(lowered, spec=replace(lowered.spec, metadata={}, playbooks=playbooks))
    write_whole(path, json.encode(stored))


def write_whole(path: Path, text: bytes) -> None:
    """Store a result; a reader sees all of it or nothing. In an unwritable folder, later work merely takes longer."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(text)
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()


def to_json(program: Program) -> dict[str, Any]:
    """The program as plain values, for tools. Places are "file:line:column"."""
    return {name: _plain(value) for name, value in plain_data(program).items() if name != "pbasm"}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"file", "line", "column"}:
            return str(Span(**value))
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
