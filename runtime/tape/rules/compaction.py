"""The fold's rule about what a frame's past is cut to. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.frames import TranscriptCompacted
from runtime.tape.rules.registry import rule
from runtime.tape.state import SessionState


@rule(TranscriptCompacted)
def _compact(state: SessionState, _: int, fact: TranscriptCompacted) -> None:
    """The first `turns` turns are told by `summary` from now on, in front of those that are left. The facts stay."""
    frame = state.frames[fact.frame]
    first, *rest = frame.transcript[fact.turns :]
    frame.transcript = [{"heard": f"{fact.summary}\n\n{first['heard']}", "said": first["said"]}, *rest]
