"""The keys of host calls, and how snapshots have them."""

import json

import pytest

from runtime.tape.snapshot import snapshot_of, state_from
from runtime.tape.state.frames import CallKey, IntentState
from runtime.tape.state.session import SessionState


@pytest.mark.parametrize(
    "key", [CallKey("1000.0", "3.1"), CallKey("1000.0:2", "turn"), CallKey("1000.0", "invite.a|b.1")]
)
def test_a_key_reads_as_it_was_written(key: CallKey) -> None:
    assert CallKey.parse(str(key)) == key


def test_a_snapshot_has_a_key_as_one_text_and_gives_the_key_back() -> None:
    state = SessionState(intents={CallKey("1000.0", "3"): IntentState("Fetch", "d", "s.1")})
    snapshot = snapshot_of(state)
    assert list(json.loads(snapshot.text)["intents"]) == ["1000.0|3"]
    restored = state_from(snapshot)
    assert restored is not None
    assert [(key.frame, key.pos) for key in restored.intents] == [("1000.0", "3")]
