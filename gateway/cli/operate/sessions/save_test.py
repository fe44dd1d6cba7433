"""`parley sessions save-test`: a talk out of a stored conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.operate.database import lines_of, no_session, when, with_database
from gateway.cli.output.terminal import FAILED, ConfigOption, load_settings, plain_errors, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.database import GatewayDatabase
    from gateway.settings.tree import Settings
    from gateway.talks.results import TalkResult
    from gateway.talks.saving import Contents
    from runtime.stores.catalog import WholeSession


def save_test(
    session: Annotated[
        str,
        typer.Argument(help="The session's id, as parley sessions list shows it, or a file of parley sessions export."),
    ],
    file: Annotated[Path, typer.Argument(help="The talk file, such as support.test.md. The talk is added at its end.")],
    program: Annotated[
        Path | None, typer.Option(help="The program, if it is not beside the file under the same name.")
    ] = None,
    title: Annotated[str, typer.Option(help="The talk's title (default: the time of the conversation).")] = "",
    config: ConfigOption = None,
) -> None:
    """Turn a conversation into a talk, with the answers that the model gave, and run it once.

    The talk contains what people said, with their names. Read it before you share it.
    """
    from gateway.talks.results import result_lines
    from gateway.talks.saving import beside

    async def ask(database: GatewayDatabase) -> tuple[WholeSession, Contents]:
        from gateway.talks.saving import contents_of
        from runtime.core.ids import SessionId

        found = await database.catalog.whole(SessionId(session))
        if found is None:
            raise await no_session(database, session)
        return found, await contents_of(found.facts, database.files)

    exported = Path(session)
    with plain_errors():
        known = _read(exported) if exported.is_file() else with_database(config, ask)
    with plain_errors():
        whole, contents = known
        with beside(file, contents) as files:
            result = _saved(load_settings(config), whole, files, (file, program, title or _title(whole)))
    for line in result_lines(result, 100):
        say(line)
    if not result.passed:
        raise typer.Exit(FAILED)


def _read(file: Path) -> tuple[WholeSession, Contents]:
    from gateway.talks.saving import contents_in
    from runtime.stores.archive import SessionFile

    exported = SessionFile(str(file), lambda: lines_of(file))
    whole = exported.session()
    return whole, contents_in(whole.facts, exported.files())


def _title(whole: WholeSession) -> str:
    return f"A conversation of {when(whole.record.started_at)}"


def _saved(
    settings: Settings, whole: WholeSession, files: Mapping[str, Path], target: tuple[Path, Path | None, str]
) -> TalkResult:
    """The talk, added to the file of this program under this title, and held once.

    Raises ProgramError and ConfigError.
    """
    import asyncio

    from gateway.talks.running import TalkLoader, hold_talk
    from gateway.talks.saving import add_talk, save, shelf_for
    from gateway.talks.staging.stage import open_stage
    from runtime.execution.frames.loop import FrameLoop

    async def saved() -> TalkResult:
        file, program, title = target
        async with open_stage(settings) as stage:
            shelf = await shelf_for(file, program, whole.facts)
            free = shelf.free_title(title)
            add_talk(shelf, free, await save(free, shelf, whole.facts, stage, files))
            loaded = await TalkLoader().load(file)
            return await hold_talk(loaded, loaded.talks[-1], stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(saved())
