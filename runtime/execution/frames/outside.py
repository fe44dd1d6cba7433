"""Effects outside of Parley: intended on the tape before they happen, and never repeated by guessing.

The order is: `intent` committed, the effect under its key, its result committed at once. A restart that finds an
intent without a result repeats the effect under the same key where that happens once, and else records that nobody
knows (OutcomeUnknown), for the code that made the call to decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import JournalError, OutcomeUnknown, PlaybookError, StorageError
from runtime.execution.frames.drive import check_call
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import failed_call, lines_of, rebuilt, site
from runtime.tape.facts.frames import CallReturned, EffectIntended
from runtime.tape.journal import Journal, as_data
from runtime.tape.state.frames import CallKey, CallRecord, IntentState, RaisedAt


class OutsideEffect(Struct, frozen=True):
    """Something that happens outside.

    `happen` takes the effect's key, the same at every repetition, and returns JSON data; where it cannot tell whether
    it happened it raises OutcomeUnknown. `repeatable`: under one key it happens once, or doing it again does no harm.
    `what` names it for people: "Weather.forecast of https://…".
    """

    what: str
    happen: Callable[[str], Awaitable[Any]]
    repeatable: bool = False


class OutsideEffects:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def perform(self, frame: Frame, call: FrameCall, effect: OutsideEffect) -> None:
        """Perform `effect` as the answer to `call`; its outcome is the call's record, exceptions included.

        Continues where a crash left it. Raises StorageError, and Divergence when another call is recorded here.
        """
        check_call(frame, call)
        if call.pos in frame.state.records:
            return
        intent = self._journal.state.intents.get(CallKey(frame.id, call.pos))
        if intent is None:
            intent = await self._intend(frame, call)
        elif not effect.repeatable:
            self._failed(frame, call, _unknown(effect))
            await self._journal.commit()
            return
        try:
            value = await _data(effect, intent.key)
        except (StorageError, JournalError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises is its result, for the code that made the call
            self._failed(frame, call, error)
        else:
            if frame.alive:
                self._journal.note(CallReturned(*site(frame, call), value))
        await self._journal.commit()

    async def value(self, frame: Frame, call: FrameCall, effect: OutsideEffect) -> Any:
        """Perform, and return the value or raise the exception of the outcome."""
        await self.perform(frame, call, effect)
        record: CallRecord = frame.state.records[call.pos]
        if record.error is not None:
            raise rebuilt(record.error, raised_at=record.raised_at)
        return record.value

    async def _intend(self, frame: Frame, call: FrameCall) -> IntentState:
        key = f"{self._journal.session}.{self._journal.state.seq + 1}"
        self._journal.note(EffectIntended(*site(frame, call), key))
        intent = self._journal.state.intents[CallKey(frame.id, call.pos)]
        await self._journal.commit()
        return intent

    def _failed(self, frame: Frame, call: FrameCall, error: Exception) -> None:
        if not frame.alive:
            return
        failed, lines = failed_call(frame, call, error), lines_of(error)
        if failed.raised_at is None and lines:
            place = RaisedAt(frame.agent.klass, frame.state.playbook, frame.state.step, lines)
            failed = replace(failed, raised_at=place)
        self._journal.note(failed)


async def _data(effect: OutsideEffect, key: str) -> Any:
    value = await effect.happen(key)
    try:
        return as_data(value)
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"{effect.what} happened, but returned something that is not JSON data: {error}") from error


def _unknown(effect: OutsideEffect) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{effect.what} was started before a restart, and its outcome is unknown; look before you repeat it"
    )
