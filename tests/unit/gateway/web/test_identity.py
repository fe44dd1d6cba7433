"""Names, cookies, the key that signs them, and small forms."""

import errno
import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from adapters.web.codec import WebVisitor
from gateway.web.guard import allowed_hosts
from gateway.web.identity import ReservedNames, WebIdentities, clean_name, persistent_secret
from gateway.web.logins.door import small_json
from runtime.core.clock import SystemClock
from tests.fakes.clock import FakeClock

ADA = WebVisitor("web:ada", "Ada")


def test_the_secret_is_made_once_and_is_ours_alone(tmp_path: Path) -> None:
    file = tmp_path / "web.secret"
    made = persistent_secret(file)
    assert len(made) >= 32
    assert persistent_secret(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("left", ["", "\n", "half-a-key"])
def test_what_a_full_disk_left_of_a_secret_is_none(tmp_path: Path, left: str) -> None:
    file = tmp_path / "web.secret"
    file.write_text(left)
    made = persistent_secret(file)
    assert len(made) >= 32
    assert persistent_secret(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_secret_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "web.secret"
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            persistent_secret(file)
    assert not file.exists()
    assert len(persistent_secret(file)) >= 32


def test_a_cookie_says_who_it_was_made_for() -> None:
    identities = WebIdentities("secret", None, SystemClock())
    assert identities.person(identities.cookie(ADA)) == ADA


@pytest.mark.parametrize("forged", [None, "", "nonsense", "a.b.c"])
def test_a_cookie_that_is_not_ours_is_nobodys(forged: str | None) -> None:
    assert WebIdentities("secret", None, SystemClock()).person(forged) is None


def test_a_changed_cookie_or_another_secret_is_nobodys() -> None:
    cookie = WebIdentities("secret", None, SystemClock()).cookie(ADA)
    assert (
        WebIdentities("secret", None, SystemClock()).person(cookie[:-2] + ("AA" if cookie[-2:] != "AA" else "BB"))
        is None
    )
    assert WebIdentities("another", None, SystemClock()).person(cookie) is None


@pytest.mark.parametrize("ahead", [timedelta(seconds=1), timedelta(minutes=10), timedelta(days=2)])
def test_who_has_a_cookie_stays_the_same_person_when_the_clock_goes_back(ahead: timedelta) -> None:
    cookie = WebIdentities("secret", None, SystemClock()).cookie(ADA)
    behind = FakeClock(datetime.now(UTC) - ahead)
    assert WebIdentities("secret", None, behind).person(cookie) == ADA


def test_a_cookie_lasts_a_year() -> None:
    cookie = WebIdentities("secret", None, SystemClock()).cookie(ADA)
    almost, after = (FakeClock(datetime.now(UTC) + timedelta(days=days)) for days in (364, 366))
    assert WebIdentities("secret", None, almost).person(cookie) == ADA
    assert WebIdentities("secret", None, after).person(cookie) is None


def test_newcomers_are_told_apart() -> None:
    assert WebIdentities.newcomer("Ada").id != WebIdentities.newcomer("Ada").id


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (" Ada \t Lovelace ", "Ada Lovelace"),
        ("A\u200b\u202eda", "Ada"),
        ("\x00\n", ""),
        ("x" * 60, "x" * 40),
        ("アダ", "アダ"),
    ],
)
def test_a_name_keeps_what_can_be_seen(given: str, kept: str) -> None:
    assert clean_name(given) == kept


def test_hosts_are_checked_by_name_or_where_none_is_known_by_being_an_address() -> None:
    here, named, network = (
        allowed_hosts("127.0.0.1", ()),
        allowed_hosts("0.0.0.0", ("Chat.Example",)),
        allowed_hosts("::", ()),
    )
    assert [host in here for host in ("localhost", "::1", "10.0.0.7", "evil.example")] == [True, True, False, False]
    assert [host in named for host in ("localhost", "chat.example", "10.0.0.7", None)] == [True, True, False, False]
    assert [host in network for host in ("10.0.0.7", "fd00::1", "evil.example", "")] == [True, True, False, False]


@pytest.mark.parametrize(
    "taken",
    [
        "Host",
        "host",
        " H o s t ",
        "Ноst",
        "H0st",
        "Ｈｏｓｔ",
        "Hóst",
        "𝐇𝐨𝐬𝐭",
        "Parley",
        "PARIEY",
        "Parl\u0435y",
        "Par1ey",
    ],
)
def test_names_that_look_like_an_agents_or_ours_are_taken(taken: str) -> None:
    assert taken in ReservedNames(["Host", "Price Finder"])


@pytest.mark.parametrize("free", ["Ada", "Hostess", "Parle", "Ольга", "Άννα", "アダ", "👋"])
def test_other_names_are_free_in_any_script(free: str) -> None:
    assert free not in ReservedNames(["Host", "Price Finder"])


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
data = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def read(body: bytes) -> dict[str, str] | None:
    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return anyio.run(small_json, Request({"type": "http", "method": "POST", "headers": []}, receive))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=100) | data.map(json.dumps).map(str.encode))
@example(rb'{"endpoint": "\ud800"}')
@example(b"[" * 4_000)
@example(b'{"a": ' + b"1" * 4_050 + b"}")
@example(b'{"a": NaN, "b": "c"}')
def test_a_form_of_any_content_is_texts_that_can_be_kept_or_nothing(body: bytes) -> None:
    for name, value in (read(body) or {}).items():
        assert f"{name}{value}".encode().decode() == f"{name}{value}"
