"""`parley debug letters`: events that could not be processed, to be looked at, tried again or given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.operate.database import JsonOption, nothing_kept, say_json, say_list, shortened, when, with_database
from gateway.cli.output.terminal import FAILED, ConfigOption, note, say

if TYPE_CHECKING:
    from runtime.stores.inbox import DeadLetter

LetterArgument = Annotated[str, typer.Argument(help="The letter's id, as parley debug letters list shows it.")]
AfterOption = Annotated[str, typer.Option("--after", help="Start after the letter with this id.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=1000, help="The largest number of letters to show.")]

app = typer.Typer(help="Dead letters: events that could not be processed.", no_args_is_help=True)


@app.command("list")
def list_letters(
    after: AfterOption = "", limit: LimitOption = 50, as_json: JsonOption = False, config: ConfigOption = None
) -> None:
    """Show the dead letters, by shard, oldest first."""
    letters = (
        []
        if nothing_kept(config)
        else with_database(config, lambda database: database.letters.page(after, limit=limit))
    )
    none = "There are no dead letters." if not after else "There are no more dead letters."
    head = ("LETTER", "DIED (UTC)", "CONVERSATION", "KIND", "WHY", "TEXT")
    say_list(letters, none, head, _row, _data, as_json=as_json)
    if len(letters) == limit:
        note(f"There may be more: parley debug letters list --after {letters[-1].id}")


@app.command()
def show(letter: LetterArgument, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show one dead letter in full."""
    found = with_database(config, lambda database: database.letters.get(letter))
    if found is None:
        note(f"parley: There is no dead letter {letter} (any more); see parley debug letters list.")
        raise typer.Exit(FAILED)
    if as_json:
        say_json(_data(found))
        return
    for name, value in _data(found).items():
        if value not in (None, "", []):
            say(f"{name:<12} {value}")


@app.command()
def replay(letter: LetterArgument, config: ConfigOption = None) -> None:
    """Process a dead letter again, as if it had just arrived."""
    found = with_database(config, lambda database: database.letters.replay(letter))
    say(f"{letter} is back in the inbox of {found.event.address.key}.")


@app.command()
def drop(letter: LetterArgument, config: ConfigOption = None) -> None:
    """Delete a dead letter."""
    found = with_database(config, lambda database: database.letters.drop(letter))
    say(f"{letter} of {found.event.address.key} is deleted.")


def _row(letter: DeadLetter) -> tuple[str, ...]:
    event = letter.event
    why, text = shortened(letter.reason), shortened(event.text, 30)
    return letter.id, when(letter.died_at), event.address.key, event.kind, why, text


def _data(letter: DeadLetter) -> dict[str, Any]:
    event = letter.event
    return {
        "letter": letter.id,
        "died_at": letter.died_at.isoformat(),
        "why": letter.reason,
        "conversation": event.address.key,
        "kind": event.kind,
        "event": event.id,
        "person": event.person_id,
        "name": event.person_name,
        "sent_at": event.sent_at.isoformat(),
        "text": event.text,
        "choice": event.choice,
        "message": event.message_id,
        "files": [dict(file) for file in event.attachments],
        "program": event.program,
    }
