"""Facts about failures that nobody catches: that owners are to hear of one, and that it is in a report."""

from __future__ import annotations

from runtime.tape.facts.content import RAISED_AT, Content, fact, key
from runtime.tape.state.frames import RaisedAt


@fact("uncaught", session=True)
class FailureUncaught(Content):
    """Something that an agent began has failed, by fact `seq`."""

    seq: int = key("seq")
    error_type: str = key("type")
    raised_at: RaisedAt = key("where", form=RAISED_AT)


@fact("reported", session=True)
class FailureReported(Content):
    """The failure of fact `seq` is in a report: its number, 0 if none could be made, and how many failures it has."""

    seq: int = key("seq")
    report: int = key("report")
    count: int = key("count")
