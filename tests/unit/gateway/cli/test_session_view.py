"""A session as its operator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.cli.session_view import say_view, view_of
from runtime.core.address import Address
from runtime.core.ids import SessionId, TapeId
from runtime.sessions.catalog import WholeSession
from runtime.sessions.store import SessionRecord
from runtime.tape.tape import Fact

T0 = datetime(2026, 1, 1, tzinfo=UTC)

FACTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("agent", {"id": "1000", "class": "Host"}),
    ("start", {"f": "1000.0", "agent": "1000", "pb": "Plan", "args": [], "kwargs": {}, "version": ""}),
    ("meeting", {"id": "100", "topic": "Plan", "host": "1000", "f": "1000.0"}),
    ("meeting_active", {"id": "100"}),
    ("shared", {"id": "100", "name": "budget", "value": {"eur": 1200}, "by": "1000"}),
)


def test_meetings_are_shown_with_what_they_share(capsys: pytest.CaptureFixture[str]) -> None:
    facts = tuple(Fact(TapeId("s/session"), seq, kind, T0, data) for seq, (kind, data) in enumerate(FACTS, 1))
    record = SessionRecord(SessionId("s"), Address("web", "lobby"), "test", T0, seq=len(facts))
    view = view_of(WholeSession(record, awake=False, pages=frozenset(), facts=facts))
    shared = {"budget": {"value": {"eur": 1200}, "version": 1, "by": "1000"}}
    meeting = {"meeting": "100", "topic": "Plan", "status": "active", "joined": ["1000"], "shared": shared}
    assert view["meetings"] == [meeting]
    names = ("session", "conversation", "program", "started_at", "last_at", "state", "facts", "node")
    say_view(dict.fromkeys(names) | {"parent": None, "replaced_by": None} | view)
    lines = capsys.readouterr().out.splitlines()
    assert "meeting       100 active, Plan: 1000" in lines
    assert 'shared        budget = {"eur": 1200}, version 1 by 1000' in lines
