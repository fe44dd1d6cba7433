"""Sealing by itself: what is sealed opens at its place with its key, and nowhere else."""

import binascii

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.core.errors import ConfigError, ContentLocked
from runtime.storage.encoding.encryption import ContentEncryption, Key, keys_from, new_key
from runtime.storage.encoding.sealing import PLAIN, AssociatedData, ContentSealing, key_of
from runtime.storage.redis.inbox import EventForm
from tests.contract.storage_samples import event

FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))
HERE = AssociatedData("session s1", ("fact", "s1/1000", 7))

bindings = st.builds(AssociatedData, st.text(max_size=5), st.tuples(st.text(max_size=5), st.integers(0, 99)))


@settings(max_examples=50, deadline=None)
@given(text=st.text(), content=st.binary(), binding=bindings)
def test_what_is_sealed_opens_again_and_equal_texts_are_sealed_equally(
    text: str, content: bytes, binding: AssociatedData
) -> None:
    sealing = ContentEncryption([FIRST])
    sealed, sealed_bytes = sealing.seal(binding, text), sealing.seal_bytes(binding, content)
    assert sealing.open(binding, sealed) == text
    assert sealing.open_bytes(binding, sealed_bytes) == content
    assert ContentEncryption([FIRST]).seal(binding, text) == sealed
    assert (key_of(sealed), key_of(sealed_bytes)) == (FIRST.id, FIRST.id)
    assert sealing.is_current(sealed)
    assert sealing.is_current(sealed_bytes)


@pytest.mark.parametrize("sealing", [PLAIN, ContentEncryption([FIRST])])
def test_an_event_with_half_a_character_is_written_with_a_mark_in_its_place(sealing: ContentSealing) -> None:
    form = EventForm(sealing)
    written = form.write(event("1", text="cut \ud83d"))
    assert form.read("1-0", {"e": written}).text == "cut \ufffd"


@settings(max_examples=50, deadline=None)
@given(there=bindings, elsewhere=bindings)
def test_it_opens_nowhere_else(there: AssociatedData, elsewhere: AssociatedData) -> None:
    sealing = ContentEncryption([FIRST])
    sealed = sealing.seal(there, "text")
    if there == elsewhere:
        assert sealing.open(elsewhere, sealed) == "text"
    else:
        with pytest.raises(ContentLocked, match="moved"):
            sealing.open(elsewhere, sealed)


def test_bindings_do_not_run_into_each_other() -> None:
    assert AssociatedData("a", ("b", "c")).data != AssociatedData("a", ("bc",)).data
    assert AssociatedData("a", ("1:b,", "")).data != AssociatedData("a", ("", "b,")).data


@pytest.mark.parametrize("position", range(16, 40, 3))
def test_each_changed_character_is_noticed(position: int) -> None:
    sealing = ContentEncryption([FIRST])
    sealed = sealing.seal(HERE, "it is here")
    other = "A" if sealed[position] != "A" else "B"
    with pytest.raises(ContentLocked, match=f"session s1 cannot be opened with its key {FIRST.id}"):
        sealing.open(HERE, sealed[:position] + other + sealed[position + 1 :])


def test_a_missing_key_is_named_with_what_needs_it_and_what_to_do() -> None:
    sealed = ContentEncryption([FIRST]).seal(HERE, "it is here")
    for sealing in (PLAIN, ContentEncryption([SECOND])):
        with pytest.raises(ContentLocked, match=rf"key {FIRST.id} is missing.*session s1.*encryption\.keys"):
            sealing.open(HERE, sealed)


def test_the_first_key_writes_and_all_read() -> None:
    old, both = ContentEncryption([FIRST]), ContentEncryption([SECOND, FIRST])
    sealed = old.seal(HERE, "it is here")
    assert both.open(HERE, sealed) == "it is here"
    assert not both.is_current(sealed)
    assert key_of(both.seal(HERE, "it is here")) == SECOND.id
    assert both.open(HERE, "{}") == "{}"


def test_a_text_that_looks_sealed_stays_what_it_is_inside() -> None:
    sealing = ContentEncryption([FIRST])
    assert sealing.open(HERE, sealing.seal(HERE, "sealed:00000000:AAAA")) == "sealed:00000000:AAAA"


def test_digests_tell_nothing_without_the_key() -> None:
    assert ContentEncryption([FIRST]).digest("shard 1", "text") == ContentEncryption([FIRST]).digest("shard 1", "text")
    others = {
        ContentEncryption([SECOND]).digest("shard 1", "text"),
        ContentEncryption([FIRST]).digest("shard 2", "text"),
    }
    assert ContentEncryption([FIRST]).digest("shard 1", "text") not in others | {PLAIN.digest("shard 1", "text")}


def test_only_conversations_that_a_pattern_names_are_sealed() -> None:
    sealing = ContentEncryption([FIRST], ["web:*", "telegram:42#*", "slack:C1"])
    keys = ("web:hall", "telegram:42", "telegram:42#7", "slack:web:x", "slack:C1", "slack:C1#5", "slack:C11")
    assert [key for key in keys if sealing.of(key) is sealing] == [
        "web:hall",
        "telegram:42#7",
        "slack:C1",
        "slack:C1#5",
    ]
    assert sealing.selective
    assert not ContentEncryption([FIRST]).selective


def test_a_file_of_keys_is_read_with_remarks() -> None:
    text = f"# the newest\n{SECOND.line}\n\n{FIRST.line} # of last year\n"
    assert keys_from(text, "keys") == [SECOND, FIRST]
    assert keys_from(f"{SECOND.line} {FIRST.line}", "keys") == [SECOND, FIRST]


def test_a_key_is_never_shown() -> None:
    key = new_key()
    assert binascii.b2a_base64(key.secret, newline=False).decode() not in repr(key)
    assert repr(key.secret) not in repr(key)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no key"),
        ("hunter2", "line 1: this is not a key"),
        (f"{FIRST.id}:AAAA", "line 1: this is not a key"),
        (f"\n{FIRST.line[:-3]}", "line 2: this is not a key"),
        (f"{SECOND.id}:{FIRST.line.partition(':')[2]}", f"another one, {FIRST.id}"),
        (f"{FIRST.line}\n{FIRST.line}", "twice"),
    ],
)
def test_what_is_no_key_is_refused_and_not_told(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        ContentEncryption(keys_from(text, "keys"))
    assert FIRST.line.partition(":")[2] not in str(caught.value)
    assert "hunter2" not in str(caught.value)
