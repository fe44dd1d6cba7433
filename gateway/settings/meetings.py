"""The settings for meetings."""

from __future__ import annotations

from gateway.settings.forms import Section
from runtime.meetings.showing import Show


class MeetingSettings(Section):
    """`threads`: a meeting with people gets a thread, topic or room of its own where one can be opened. `show` is the
    part of the agents' talk among themselves that people see: "all", "summaries" or "none".
    """

    threads: bool = True
    show: Show = "all"
