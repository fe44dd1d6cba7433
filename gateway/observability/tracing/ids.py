"""The ids of spans. That of a root frame's first span is derived, so that any node can link to it; the others are
random.
"""

from __future__ import annotations

import random
from hashlib import blake2b

from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import SpanContext, TraceFlags


class SpanIds(IdGenerator):
    """Gives the next trace and the next span a requested id, once."""

    def __init__(self) -> None:
        self.next_trace: int | None = None
        self.next_span: int | None = None
        self._chance = random.SystemRandom()

    def generate_trace_id(self) -> int:
        asked, self.next_trace = self.next_trace, None
        return asked or self._chance.getrandbits(128) or 1

    def generate_span_id(self) -> int:
        asked, self.next_span = self.next_span, None
        return asked or self._chance.getrandbits(64) or 1


def first_span(session: str, root: str) -> SpanContext:
    """The position of a root frame's first span, on any node and at any time."""
    digest = blake2b(f"{session}\0{root}".encode(), digest_size=24).digest()
    trace, span = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big")
    return SpanContext(trace or 1, span or 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def is_chosen(session: str, share: float) -> bool:
    """Whether a session is among the traced `share` of all: the same answer on every node, at every time."""
    digest = blake2b(session.encode(), digest_size=8, person=b"parley.share").digest()
    return int.from_bytes(digest, "big") < share * 2**64
