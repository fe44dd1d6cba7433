"""The events of the bus, in the past tense.

An event is a name of `<area>.<past tense>` and flat data under the standard logging keys (docs/logging.md).
Names: session.started session.restored session.rested session.failed session.fenced · message.admitted message.received
message.routed message.delivered message.undelivered · channel.created channel.watcher_failed · stream.started
stream.completed stream.observer_failed · playbook.started playbook.returned playbook.failed · frame.started
frame.restored frame.parked frame.resumed frame.returned frame.failed frame.stopped · program.logged · turn.completed ·
step.executed step.rejected · trigger.fired · page.opened page.sent page.finished page.refused page.failed page.closed
page.orphaned page.checked page.diverged · llm.requested llm.answered llm.broke_off llm.failed ·
model.ready model.lost · sandbox.failed sandbox.unjailed ·
adapter.connected adapter.failed adapter.rate_limited · storage.lost storage.back storage.doubted ·
archive.failed content.locked sessions.retired · node.balanced node.handed_over node.shard_lost node.isolated
node.returned node.draining node.drained · job.failed · access.refused access.paired · debugger.attached
debugger.detached debugger.refused · participant.posted participant.refused participant.connected participant.left ·
remote.connected remote.listed remote.lost remote.unreachable remote.progressed remote.said · meeting.started
meeting.ended meeting.placeless · tracing.failed tracing.resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; `at` is UTC."""

    name: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
