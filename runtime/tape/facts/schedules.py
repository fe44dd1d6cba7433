"""Facts about schedules: an event of one was taken, and nothing goes on any more."""

from __future__ import annotations

from runtime.tape.facts.content import Content, fact, key


@fact("run", session=True)
class RunBegun(Content):
    """An event of a schedule was taken, by its id."""

    run: str = key("run")


@fact("run_over", session=True)
class RunOver(Content):
    """Nothing of a run goes on any more. `how` is "answered", "failed" or "stopped"."""

    run: str = key("run")
    how: str = key("how")
