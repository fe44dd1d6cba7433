"""`parley sessions`: look at sessions, take them elsewhere, delete them for good."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.operate import database as shared
from gateway.cli.operate.sessions.save_test import save_test
from gateway.cli.output.terminal import BAD_INPUT, ConfigOption, note, plain_errors, say
from gateway.features.notebooks.cli import COLUMNS, delete_old, old_notebooks

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase
    from gateway.jobs.retention import ErasedData, RetentionResult, RetentionStep
    from runtime.stores.catalog import KnownSession, WholeSession

SessionArgument = Annotated[str, typer.Argument(help="The session's id, as parley sessions list shows it.")]
LimitOption = Annotated[int, typer.Option("--limit", min=0, help="The number of sessions to show; 0 shows all.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Do it even while a running gateway is working on the session.")
]

_PAGE_OF_SESSIONS = 500
_FOLLOWED_FROM = 10
"""The number of facts shown before the new ones."""

app = typer.Typer(help="Look at sessions, move them, delete them.", no_args_is_help=True)
app.command("save-test", short_help="Turn a session into a talk for parley test.")(save_test)


@app.command("list")
def list_sessions(
    after: Annotated[
        str, typer.Option("--after", help="Start after this mark, printed at the end of the previous list.")
    ] = "",
    limit: LimitOption = 50,
    as_json: shared.JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the sessions, the most recently active first."""
    if after and not re.fullmatch(r"\d+:.+", after):
        note(f'parley: "{after}" is not a mark of a list. Use the one that parley sessions list prints at its end.')
        raise typer.Exit(BAD_INPUT)

    async def ask(database: GatewayDatabase) -> tuple[list[KnownSession], str, int]:
        found: list[KnownSession] = []
        mark, wanted = after, limit or await database.catalog.count()
        while wanted:
            page = await database.catalog.page(mark, limit=min(wanted, _PAGE_OF_SESSIONS))
            found += page.sessions
            wanted -= min(wanted, _PAGE_OF_SESSIONS)
            mark = page.next
            if not mark:
                break
        return found, mark, await database.catalog.count()

    found, mark, count = ([], "", 0) if shared.nothing_kept(config) else shared.with_database(config, ask)
    head = ("SESSION", "CONVERSATION", "PROGRAM", "STARTED (UTC)", "LAST ACTIVE", "STATE", "FACTS", "SIZE", "FROM")
    shared.say_list(found, "There are no sessions.", head, _row, _data, as_json=as_json)
    if mark and count > len(found):
        note(f"{len(found)} of {count}; the next: parley sessions list --after {mark}")


@app.command(short_help="Show the state of a session and its last messages.")
def show(
    session: SessionArgument,
    facts: Annotated[bool, typer.Option("--facts", help="Print the tapes, fact by fact.")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="Print what was executed, step by step.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Print the last facts, then each new one.")] = False,
    as_json: shared.JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the state of a session: its agents and their stacks, its people, its pages, its last messages."""
    from gateway.cli.operate.sessions.view import say_coming, say_fact, say_steps, say_view, view_of

    async def ask(database: GatewayDatabase) -> tuple[KnownSession, WholeSession]:
        both = await _both(database, session)
        if follow and not both[0].record.archived:
            await say_coming(database.tapes, both[0].record.id, _FOLLOWED_FROM, as_json=as_json)
        return both

    known, whole = shared.with_database(config, ask)
    if follow and not known.record.archived:
        return
    if steps:
        say_steps(whole, as_json=as_json)
        return
    if facts or follow:
        for fact in whole.facts:
            say_fact(fact, as_json=as_json)
        return
    view = {**_data(known), **view_of(whole)}
    if as_json:
        shared.say_json(view)
    else:
        say_view(view)


@app.command("export")
def export_session(
    session: SessionArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", help='The file; "-" prints it. Default: <session>.jsonl')
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Write a session to one file; the session stays as it is."""

    async def ask(database: GatewayDatabase) -> tuple[int, int]:
        from runtime.core.clock import SystemClock

        whole = (await _both(database, session))[1]
        files = 0
        written = shared.standard_output() if output == "-" else shared.whole_file(Path(output or f"{session}.jsonl"))
        with written as file:
            async for line in database.session_file(whole, SystemClock().now()):
                file.write(line)
                files += line.startswith('{"file"')
        return len(whole.facts), files

    count, files = shared.with_database(config, ask)
    if output != "-":
        say(f"{output or f'{session}.jsonl'} has the session {session}: {count} facts, {files} files.")


@app.command("import", short_help="Import a session from a file.")
def import_session(
    file: Annotated[Path, typer.Argument(help="A file written by parley sessions export.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing session.")] = False,
    force: ForceOption = False,
    config: ConfigOption = None,
) -> None:
    """Import a session from a file; an incomplete file changes nothing."""

    async def ask(database: GatewayDatabase) -> WholeSession:
        from runtime.sessions.meetings.places import keep_places
        from runtime.stores.archive import SessionFile

        read = SessionFile(str(file), lambda: shared.lines_of(file))
        whole = read.session()
        place = whole.record.address.key
        for content in read.files():
            await database.files.keep(content.data, content.media_type, conversation=place)
        if replace:
            await database.catalog.replace(whole, force=force)
        else:
            await database.catalog.insert(whole)
        await keep_places(whole, database.places)
        return whole

    whole = shared.with_database(config, ask)
    record = whole.record
    say(f"The session {record.id} is now in {record.address.key}: {len(whole.facts)} facts.")
    if not record.ended:
        say("It continues with the next message there, or when a gateway starts.")


@app.command()
def delete(
    session: Annotated[str, typer.Argument(help="The session's id.")] = "",
    person: Annotated[
        str, typer.Option("--person", help="Delete all sessions of this person, and everything kept about them.")
    ] = "",
    force: ForceOption = False,
    config: ConfigOption = None,
) -> None:
    """Delete a session, or everything about a person, permanently."""
    if bool(session) == bool(person):
        note("parley: name a session, or a person with --person <platform>:<id>.")
        raise typer.Exit(BAD_INPUT)
    if person:
        with plain_errors():
            shared.checked_person(person, config)
        _say_erased(person, shared.with_database(config, lambda database: database.erasure.person(person, force=force)))
        return

    async def ask(database: GatewayDatabase) -> None:
        from runtime.core.ids import SessionId

        if not await database.erasure.sessions([SessionId(session)], force=force):
            raise await shared.no_session(database, session)

    shared.with_database(config, ask)
    say(f"The session {session} is deleted.")


@app.command(short_help="Show what the rules in the settings archive and delete.")
def prune(
    apply: Annotated[bool, typer.Option("--apply", help="Do it instead of only listing it.")] = False,
    config: ConfigOption = None,
) -> None:
    """Show which sessions the rules of the settings archive, and which sessions and notebooks they delete."""

    async def ask(
        database: GatewayDatabase,
    ) -> tuple[list[RetentionStep], list[tuple[str, ...]], tuple[RetentionResult, int] | None]:
        if apply:
            return [], [], (await database.retention.apply(), await delete_old(database))
        return [step async for step in database.retention.plan()], await old_notebooks(database), None

    steps, old, applied = shared.with_database(config, ask)
    if applied is not None:
        done, deleted = applied
        say(f"{done.archived} sessions were archived, {done.deleted} deleted, {done.left} left as they are.")
        if deleted:
            say(f"{deleted} notebooks were deleted.")
    elif not steps and not old:
        say("The rules archive and delete nothing now.")
    else:
        if steps:
            shared.say_table(
                ("SESSION", "CONVERSATION", "LAST ACTIVE", "SIZE", "DO", "BY"), [_step_row(step) for step in steps]
            )
        if old:
            shared.say_table(COLUMNS, old)
        note("Nothing was changed. parley sessions prune --apply does it; a running gateway does it every six hours.")


def _step_row(step: RetentionStep) -> list[str]:
    known = step.session
    about = [str(known.record.id), known.record.address.key, shared.when(known.last_at), shared.size(known.size_bytes)]
    return [*about, step.doing, step.rule]


def _say_erased(person: str, erased: ErasedData) -> None:
    for session in erased.sessions:
        say(f"The session {session} is deleted.")
    say(f"{person}: {len(erased.sessions)} sessions and {erased.entries} other entries are deleted.")
    if not erased.rewritten:
        note("The server could not be made to rewrite its file. It keeps the deleted data until then.")


async def _both(database: GatewayDatabase, session: str) -> tuple[KnownSession, WholeSession]:
    from runtime.core.ids import SessionId

    known = await database.catalog.find(SessionId(session))
    whole = await database.catalog.whole(SessionId(session))
    if known is None or whole is None:
        raise await shared.no_session(database, session)
    return known, whole


def _row(known: KnownSession) -> tuple[str, ...]:
    record = known.record
    return (
        record.id,
        record.address.key,
        record.program,
        shared.when(record.started_at),
        shared.when(known.last_at),
        known.state,
        str(record.seq),
        shared.size(known.size_bytes),
        "" if record.parent is None else f"{record.parent.session}:{record.parent.seq}",
    )


def _data(known: KnownSession) -> dict[str, Any]:
    record = known.record
    return {
        "session": record.id,
        "conversation": record.address.key,
        "program": record.program,
        "started_at": record.started_at.isoformat(),
        "last_at": known.last_at.isoformat(),
        "state": known.state,
        "ended": record.ended,
        "parent": None if record.parent is None else [record.parent.session, record.parent.seq],
        "replaced_by": record.replaced_by,
        "facts": record.seq,
        "bytes": known.size_bytes,
        "node": known.node,
        "outbox": sorted(known.pages),
    }
