"""The kind and the length of recordings, by their content alone."""

import random

import pytest

from gateway.features.files.worker.limits import NotRead
from gateway.features.files.worker.sounds import measure
from tests.fakes.models.sounds import aac, flac, mp3, mp4, opus, wav, webm


@pytest.mark.parametrize(
    ("data", "media_type", "seconds"),
    [
        (opus(12.5), "audio/ogg", 12.5),
        (wav(12.5), "audio/wav", 12.5),
        (mp3(12.5), "audio/mpeg", 12.5),
        (aac(12.5), "audio/aac", 12.5),
        (flac(12.5), "audio/flac", 12.5),
        (mp4(12.5), "audio/mp4", 12.5),
        (mp4(12.0, fragments=True), "audio/mp4", 12.0),
        (webm(12.0), "audio/webm", 12.0),
        (opus(0.0), "audio/ogg", 0.0),
        (opus(10 * 3600.0), "audio/ogg", 36_000.0),
    ],
)
def test_a_recording_says_how_long_it_is(data: bytes, media_type: str, seconds: float) -> None:
    found = measure(data)
    assert found is not None
    assert found.media_type == media_type
    assert found.seconds == pytest.approx(seconds, abs=0.05)


@pytest.mark.parametrize("data", [mp4(5.0, film=True), webm(5.0, film=True), b"RIFF\0\0\0\0AVI LIST"])
def test_a_film_is_no_recording_whatever_its_container(data: bytes) -> None:
    found = measure(data)
    assert found is not None
    assert (found.media_type.partition("/")[0], found.seconds) == ("video", None)


def test_what_was_cut_off_is_as_long_as_what_is_there() -> None:
    found = measure(opus(10.0)[:-30])
    assert found is not None
    assert found.seconds == pytest.approx(9.0, abs=0.05)


def test_a_claim_in_the_head_does_not_stand_against_the_bytes() -> None:
    found = measure(wav(3.0)[:-16_000])
    assert found is not None
    assert found.seconds == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff\xd8\xff\xe0JFIF", b"\xff\xfe\x01\x00text in UTF-16", b"OggS"])
def test_what_is_no_sound_has_no_length(data: bytes) -> None:
    found = measure(data)
    assert found is None or found.seconds is None


def test_broken_recordings_of_all_kinds_end_the_measuring() -> None:
    rng = random.Random(7)
    for make in (opus, wav, mp3, aac, flac, mp4, webm):
        whole = bytearray(make(3.0))
        for _ in range(150):
            broken = bytearray(whole[: rng.randrange(1, len(whole))])
            for _ in range(rng.randrange(6)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            try:
                found = measure(bytes(broken))
            except NotRead:
                continue
            assert found is None or found.seconds is None or found.seconds >= 0
