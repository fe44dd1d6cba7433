"""Frames: what the page may send, and differences that add up to the text."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.web import codec
from adapters.web.requests import BadFrame, command_of, read_request, room_id
from runtime.core.room import AuthorKind, RoomMessage

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LIST = "<ul>\n<li>Tea</li>\n<li>Milk</li>\n</ul>"


def applied(before: str, frame: str) -> str:
    """What the page makes of a `grow` frame; its strings are counted in UTF-16 units."""
    data = json.loads(frame)
    units = before.encode("utf-16-le")
    kept = units[: len(units) - 2 * data.get("cut", 0)]
    return (kept + str(data["add"]).encode("utf-16-le")).decode("utf-16-le")


@given(TEXT, TEXT, TEXT)
@example("a", "🌍", "🌎")
@example("", "", "")
@example("**wo", "**", "rld**")
def test_a_difference_makes_the_old_text_the_new_one(shared: str, old_end: str, new_end: str) -> None:
    before, after = shared + old_end, shared + new_end
    assert applied(before, codec.grow("lobby", "m", before, after)) == after


@given(TEXT, TEXT)
def test_a_text_that_only_grew_is_sent_as_its_end(before: str, end: str) -> None:
    data = json.loads(codec.grow("lobby", "m", before, before + end))
    assert data == {"t": "grow", "room": "lobby", "id": "m", "add": end}


@given(st.text())
def test_a_rooms_id_is_its_own_id(name: str) -> None:
    assert room_id(room_id(name)) == room_id(name)


@given(st.text())
def test_no_frame_breaks_the_reader(raw: str) -> None:
    with pytest.raises(BadFrame):
        read_request(raw)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/new", ("new", "")),
        ("/Help me please", ("help", "me please")),
        (" /stop\nnow ", ("stop", "now")),
        ("/", (None, "/")),
        ("/etc/passwd is a file", (None, "/etc/passwd is a file")),
        ("not /new", (None, "not /new")),
    ],
)
def test_a_command_begins_with_its_name(text: str, command: tuple[str | None, str]) -> None:
    assert command_of(text) == command


def test_a_room_may_be_named_in_any_script() -> None:
    assert room_id("  Zoë's Küche / 台所 ") == "zoë-s-küche-台所"


@pytest.mark.parametrize(("kind", "written"), [("person", LIST), ("agent", None)])
def test_html_in_what_is_stored_is_markdown_in_every_frame_and_what_people_wrote_is_kept(
    kind: AuthorKind, written: str | None
) -> None:
    kept = RoomMessage("m", "web:1", "Ada", kind, LIST, datetime(2026, 1, 1, tzinfo=UTC), seq=1, version=1)
    shown = codec.ShownMessage(kept, live=False)
    cut = codec.RoomCut((shown,), reset=True, more=False)
    frames = [
        codec.message("lobby", shown),
        codec.joined("lobby", cut, codec.Presence((), 0), {}),
        codec.older("lobby", cut),
        codec.found("lobby", "tea", [("lobby", shown)], [], more=False, whole=True),
    ]
    for frame in map(json.loads, frames):
        message = frame["message"] if "message" in frame else frame["messages"][0]
        assert (message["text"], message.get("written")) == ("- Tea\n- Milk\n", written)
    live = json.loads(codec.message("lobby", codec.ShownMessage(kept, live=True)))["message"]
    assert (live["text"], "written" in live) == (LIST, False)  # to which the page adds what comes
