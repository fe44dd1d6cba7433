"""The wall clock of the processes under test, by libfaketime: it can be put forward and back while they run."""

from pathlib import Path

MOST_WRONG_S = 86_400.0
_PLACES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1")


class FakeTime:
    """Processes with `environment` read the time from the file `path`: the machine's, put on by so many seconds.

    They look every second, or each time with `at_once`. Only the wall clock is moved; what measures time by a monotonic
    clock is not told, as when somebody sets a clock.
    """

    def __init__(self, path: Path, *, at_once: bool = False) -> None:
        self._path = path
        self.offset_s = 0.0
        self._write()
        library = find_library()
        self.available = library is not None
        self.environment: dict[str, str] = {}
        if library is not None:
            self.environment = {
                "LD_PRELOAD": str(library),
                "FAKETIME_TIMESTAMP_FILE": str(path),
                **({"FAKETIME_NO_CACHE": "1"} if at_once else {"FAKETIME_CACHE_DURATION": "1"}),
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1",
                "FAKETIME_DONT_RESET": "1",
            }

    def jump(self, size_s: float) -> None:
        """Put the clock on, or back; the other way when it would be more than a day wrong."""
        self.offset_s += size_s if abs(self.offset_s + size_s) <= MOST_WRONG_S else -size_s
        self._write()

    def _write(self) -> None:
        draft = self._path.with_suffix(".new")
        draft.write_text(f"{self.offset_s:+.0f}\n")
        draft.replace(self._path)


def find_library() -> Path | None:
    """Where the machine has libfaketime (Debian: the package `faketime`)."""
    for pattern in _PLACES:
        found = sorted(Path("/").glob(pattern.lstrip("/")))
        if found:
            return found[0]
    return None
