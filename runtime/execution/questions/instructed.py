"""Words that repeat their own instruction: small models copy it instead of doing it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from runtime.execution.questions.question import WrongAnswer

_AROUND = " \t\n\"'“”`*.!?:"


class CopiedInstruction(WrongAnswer):
    """The words of a message are those of its instruction."""


async def not_copied(pieces: AsyncIterator[str], instructions: Collection[str]) -> AsyncIterator[str]:
    """The pieces, held back as long as they may still become one of the instructions. Raises CopiedInstruction then.

    Other words pass from the first letter that differs.
    """
    wanted = {_plain(one) for one in instructions}
    held, holds = "", bool(wanted)
    async for piece in pieces:
        if not holds:
            yield piece
            continue
        held += piece
        begun = _plain(held)
        holds = any(one.startswith(begun) for one in wanted)
        if not holds:
            yield held
    if holds and _plain(held) in wanted:
        raise CopiedInstruction("it repeats the instruction; write the message itself, as the person should read it")
    if holds:
        yield held


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(_AROUND).casefold()
