"""A run of tests by several processes: copies of one that has loaded and collected all tests.

Each takes the next file when it is done with one, and tells what came of each test to the process that was copied,
which prints it. A copy that dies breaks the run off.

    python -m pytest -p tests.copies --copies=5
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from tests.sampling import sample
from tests.spread import file_of

_FORK = multiprocessing.get_context("fork")
_NUMBER = struct.Struct("H")
Copy: TypeAlias = multiprocessing.context.ForkProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many."""
    parser.addoption("--copies", type=int, default=0, help="how many copies of this process run the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in copies; as pytest does it where there are to be none, or where something was not collected."""
    copies = session.config.getoption("copies")
    if not copies or session.testsfailed or session.config.option.collectonly:
        return None
    files = [[*items] for _, items in groupby(session.items, key=lambda item: file_of(item.nodeid))]
    numbers, given = os.pipe()
    os.write(given, b"".join(map(_NUMBER.pack, range(len(files)))))
    os.close(given)
    folder = folders_of(session).getbasetemp()
    running = dict(_begun(session, files, numbers, folder / str(number)) for number in range(copies))
    try:
        _hear(session.config, running)
    finally:
        for hears, copy in running.items():
            hears.close()
            copy.join()
    return True


def folders_of(session: pytest.Session) -> pytest.TempPathFactory:
    """What makes the folders of this process's tests."""
    return session.config._tmp_path_factory  # type: ignore[attr-defined, no-any-return]


def _begun(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], numbers: int, folder: Path
) -> tuple[Connection, Copy]:
    """A copy, and where it is heard."""
    hears, tells = _FORK.Pipe(duplex=False)
    copy = _FORK.Process(target=_live, args=(session, files, numbers, folder, tells))
    copy.start()
    tells.close()
    return hears, copy


def _hear(config: pytest.Config, running: Mapping[Connection, Copy]) -> None:
    """Pass on what copies tell until all have ended."""
    last: dict[object, str] = {}
    listening = [*running]
    while listening:
        for hears in wait(listening):
            assert isinstance(hears, Connection)
            try:
                told = hears.recv()
            except EOFError:
                running[hears].join()
                end = f"({running[hears].exitcode}), last heard of {last.get(hears)}"
                raise RuntimeError(f"A process of tests died {end}") from None
            if isinstance(told, tuple):
                sample().tried, sample().known = sample().tried + told[0], sample().known + told[1]
                listening.remove(hears)
                continue
            report = config.hook.pytest_report_from_serializable(config=config, data=told)
            last[hears] = report.nodeid
            config.hook.pytest_runtest_logreport(report=report)


class _Telling:
    """A plugin of a copy, in place of what prints."""

    def __init__(self, config: pytest.Config, tell: Callable[[Any], None]) -> None:
        self._config, self._tell = config, tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell it."""
        self._tell(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _live(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], numbers: int, folder: Path, tells: Connection
) -> None:
    """Be a copy: with its own folder, its own capture of what is written, and no printing."""
    config, plugins = session.config, session.config.pluginmanager
    folder.mkdir()
    folders_of(session)._basetemp = folder
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    printing: Any = plugins.unregister(name="terminalreporter")
    plugins.register(SimpleNamespace(_tw=printing._tw), "terminalreporter")  # where a time limit writes
    plugins.register(_Telling(config, tells.send))
    items = _taken(files, numbers)
    item = next(items, None)
    try:
        while item is not None:
            following = next(items, None)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
        tells.send((sample().tried, sample().known))
    except (KeyboardInterrupt, BrokenPipeError):  # the run is asked to end
        with contextlib.suppress(BrokenPipeError):
            session._setupstate.teardown_exact(None)
        raise SystemExit(2) from None


def _taken(files: Sequence[Sequence[pytest.Item]], numbers: int) -> Iterator[pytest.Item]:
    """The tests of a file, when they are done those of the next that nobody has taken."""
    while number := os.read(numbers, _NUMBER.size):
        yield from files[_NUMBER.unpack(number)[0]]
