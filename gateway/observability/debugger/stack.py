"""The call stack of an agent, innermost frame first, with places in the sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.observability.debugger.session_watch import SessionWatch
from gateway.observability.debugger.sources import Place, ProgramSources, StopSpot, step_of
from runtime.tape.state.frames import FrameState


@dataclass(frozen=True, slots=True)
class StackEntry:
    """A frame: `Main:03:QUE`, another agent's `Host.Main:03:QUE`. `place` is None where there is no file. `own`: it is
    executed on the agent whose stack this is.
    """

    frame: str
    name: str
    place: Place | None
    own: bool


def stack_of(watch: SessionWatch, agent: str, sources: ProgramSources, *, compiled: bool = False) -> list[StackEntry]:
    """The stack; empty while nothing is executed on the agent. `compiled`: places are those in the PBAsm."""
    return list(_entries(watch, agent, sources, compiled))


def innermost(watch: SessionWatch, agent: str) -> str | None:
    """The top frame of an agent's stack: the stopped one, else the latest."""
    frames = watch.journal.state.frames
    stand = watch.stand
    if stand is not None and stand.moment is not None and stand.agent == agent and stand.moment.frame in frames:
        return stand.moment.frame
    return next((id_ for id_ in reversed(frames) if frames[id_].agent == agent), None)


def _entries(watch: SessionWatch, agent: str, sources: ProgramSources, compiled: bool) -> Iterator[StackEntry]:
    state = watch.journal.state
    top = innermost(watch, agent)
    current = state.frames.get(top or "")
    while current is not None:
        line, place = _standing(watch, current, sources, compiled)
        owner = "" if current.agent == agent else f"{state.agents[current.agent].klass}."
        meeting = f" [meeting {current.meeting}]" if current.meeting else ""
        yield StackEntry(current.id, f"{owner}{current.playbook}{line}{meeting}", place, current.agent == agent)
        current = state.frames.get(current.caller.frame) if current.caller else None


def _standing(
    watch: SessionWatch, frame: FrameState, sources: ProgramSources, compiled: bool
) -> tuple[str, Place | None]:
    """The position of a frame: `:03:QUE`, and its place."""
    spec = watch.spec(frame)
    if spec is None:
        return "", None
    moment = watch.stand.moment if watch.stand is not None else None
    coming = moment.line if moment is not None and moment.frame == frame.id else ""
    step = spec.step(coming) if coming else step_of(spec, frame.step)
    klass = watch.journal.state.agents[frame.agent].klass
    if step is not None:
        spot, named = StopSpot("step", klass, frame.playbook, step.line), f":{step.line}:{step.op}"
    else:
        spot, named = StopSpot("playbook", klass, frame.playbook), ""
    if spec.kind == "python" and frame.id in watch.places:
        return named, watch.places[frame.id]
    found = (place for place in sources.places(watch.program, spot) if isinstance(place.source, int) == compiled)
    return named, next(found, None)
