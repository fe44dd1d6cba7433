"""The order of files in which several processes take them, and the record that it comes from."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.spread import LONG_S, WHOLE_PROCESSES, recorded, spread

ROOT = Path(__file__).parents[2]
FOLDERS = st.sampled_from(["tests/e2e/", "tests/contract/", "tests/unit/", "tests/language/"])
FILES = st.dictionaries(st.builds("{}{}".format, FOLDERS, st.integers(0, 99)), st.floats(0.1, 300), max_size=30)


@given(FILES)
def test_every_file_is_there_once_and_long_ones_come_first_among_their_kind(seconds: dict[str, float]) -> None:
    order = spread(seconds, seconds)
    assert sorted(order) == sorted(seconds)
    for waits in (True, False):
        kind = [seconds[file] for file in order if file.startswith(WHOLE_PROCESSES) is waits]
        assert kind == sorted(kind, reverse=True)


def test_what_waits_stands_between_what_computes_until_both_end() -> None:
    waiting, computing = [f"tests/e2e/{n}" for n in range(3)], [f"tests/unit/{n}" for n in range(6)]
    seconds = dict.fromkeys(waiting, 20.0) | dict.fromkeys(computing, 10.0)
    kinds = [file.startswith(WHOLE_PROCESSES) for file in spread(seconds, seconds)]
    assert [kinds[start : start + 3].count(True) for start in (0, 3, 6)] == [1, 1, 1]


def test_the_record_has_only_long_files_that_exist() -> None:
    assert [file for file in recorded() if not (ROOT / file).exists()] == []
    assert min(recorded().values()) >= LONG_S
