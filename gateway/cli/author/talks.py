"""`parley test`: talks with programs, and their results."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import BAD_INPUT, FAILED, ConfigOption, load_settings, note, plain_errors, say
from runtime.core.errors import ConfigError, ProgramError

if TYPE_CHECKING:
    from gateway.settings.tree import Settings
    from gateway.talks.results import StepCoverage, TalkResult
    from gateway.talks.running import Job, LoadedTalks, TalkPlan
    from gateway.talks.staging.record import StepPlace

_LIMIT_S, _LIVE_LIMIT_S = 30.0, 600.0
_INTERRUPTED = 130


def hold_talks(  # noqa: PLR0913 - options of a command
    talks: Annotated[
        list[Path] | None,
        typer.Argument(help="Talk files, programs with talks beside them, or folders (default: this folder)."),
    ] = None,
    config: ConfigOption = None,
    only: Annotated[str | None, typer.Option(help="Run only the talks whose titles contain this.")] = None,
    coverage: Annotated[bool, typer.Option("--coverage", help="List every step that no talk reached.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write the results to a JUnit file as well.")] = None,
    jobs_at_once: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="The number of talks at the same time (default: one per processor)."),
    ] = None,
    limit_s: Annotated[
        float | None,
        typer.Option("--limit", min=0.1, help="Seconds that a talk may take (default: 30, with a real model 600)."),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Use the model in the settings, also as the judge.")] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Use the model in talks without answers, and record its answers beside them."),
    ] = False,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
) -> None:
    """Run the talks in files such as support.test.md, and report where they differ from what they expect.

    Exit codes: 0 all passed, 1 some failed, 2 a talk, a program or an option is wrong, 130 Ctrl-C.
    """
    from gateway.talks.results import write_junit
    from gateway.talks.running import TalkPlan, talk_files

    with plain_errors():
        settings = load_settings(config, {"model": model})
        files = talk_files(talks or [Path()])
        if junit is not None and not junit.parent.is_dir():
            raise ConfigError(f"{junit} cannot be written: there is no folder {junit.parent}.")
        if live or record:
            _need_model(settings)
    loaded, wrong = _loaded(files)
    jobs: list[Job] = [(one, talk) for one in loaded for talk in one.talks if (only or "") in talk.title]
    if not jobs and not wrong:
        note(_nothing(files, only))
        raise typer.Exit(BAD_INPUT)
    asked = frozenset(number for number, (_, talk) in enumerate(jobs) if live or (record and not talk.scripted))
    plan = TalkPlan(settings, jobs, limit_s or (_LIVE_LIMIT_S if asked else _LIMIT_S), asked)
    try:
        results = _held(plan, jobs_at_once or os.cpu_count() or 1)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    _tell(jobs, results, every=coverage)
    with plain_errors():
        if record:
            _keep(jobs, results)
        if junit is not None:
            try:
                write_junit(junit, results)
            except OSError as error:
                raise ConfigError(f"{junit} cannot be written: {error.strerror}") from error
    if wrong:
        raise typer.Exit(BAD_INPUT)
    if not all(result.passed for result in results):
        raise typer.Exit(FAILED)


def _tell(jobs: Sequence[Job], results: Sequence[TalkResult], *, every: bool) -> None:
    from gateway.talks.results import result_lines, summary_lines

    width = shutil.get_terminal_size((100, 24)).columns
    for result in results:
        for line in result_lines(result, width):
            say(line)
    for line in summary_lines(results, _coverages(jobs, results), every=every) if results else ():
        say(line)


def _need_model(settings: Settings) -> None:
    """Raises ConfigError where there is no model to ask."""
    import anyio

    from gateway.models.opening import default_model
    from runtime.llm.choice import NoModel

    found = anyio.run(default_model, settings)
    if isinstance(found, NoModel):
        raise ConfigError(found.reason)


def _keep(jobs: Sequence[Job], results: Sequence[TalkResult]) -> None:
    """Write the answers of the talks that a model was asked in beside them; others stay. Raises ConfigError."""
    from gateway.talks.staging.answers import TalkRecording, recording_of, write_recordings

    for loaded in dict.fromkeys(loaded for loaded, _ in jobs):
        here = [
            (talk.title, result.recording) for (one, talk), result in zip(jobs, results, strict=True) if one is loaded
        ]
        new = {title: recording for title, recording in here if recording is not None and recording.answers}
        titles = {talk.title for talk in loaded.talks if not talk.scripted}
        kept: dict[str, TalkRecording] = {
            title: one for title, one in {**loaded.recordings, **new}.items() if title in titles
        }
        if new:
            write_recordings(loaded.path, kept)
            talks = "1 talk" if len(new) == 1 else f"{len(new)} talks"
            say(f"{recording_of(loaded.path)}: the answers of {talks} are recorded.")


def _nothing(files: Sequence[Path], only: str | None) -> str:
    if not files:
        return "parley: There are no talks here. Write some beside a program, support.test.md beside support.pb."
    return f"parley: No talk has “{only}” in its title."


def _loaded(files: Sequence[Path]) -> tuple[list[LoadedTalks], bool]:
    """The talks of the files, and whether any file is wrong; what is wrong is said."""
    import anyio

    from gateway.talks.running import TalkLoader

    found: list[LoadedTalks] = []
    wrong = False

    async def load() -> None:
        nonlocal wrong
        loader = TalkLoader()
        for file in files:
            try:
                found.append(await loader.load(file))
            except (ProgramError, ConfigError) as error:
                wrong = True
                note(str(error))

    anyio.run(load)
    return found, wrong


def _held(plan: TalkPlan, workers: int) -> list[TalkResult]:
    from gateway.talks.running import held_apart

    results = dict(held_apart(plan, workers))
    return [results[number] for number in range(len(plan.jobs))]


def _coverages(jobs: Sequence[Job], results: Sequence[TalkResult]) -> list[StepCoverage]:
    from gateway.talks.results import StepCoverage

    reached: dict[str, set[StepPlace]] = {}
    programs = {loaded.program.digest: loaded.program for loaded, _ in jobs}
    for (loaded, _), result in zip(jobs, results, strict=True):
        reached.setdefault(loaded.program.digest, set()).update(result.steps)
    return [StepCoverage(program, frozenset(reached[digest])) for digest, program in programs.items()]
