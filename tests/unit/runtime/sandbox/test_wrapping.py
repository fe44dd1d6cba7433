"""The jail around the sandbox's workers: which there is, what it takes away, and what is said where there is none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.assembly.parts import open_sandbox
from gateway.observability.metrics import ProcessMetrics
from gateway.observability.watching import NodeGauges
from gateway.settings.execution import SandboxSettings
from gateway.settings.tree import Settings
from runtime.core.errors import ConfigError
from runtime.events.happening import Happening
from runtime.sandbox import wrapping
from runtime.sandbox.executor import CallOutcome, CodeSnippet
from runtime.sandbox.monty import MontySandbox
from runtime.sandbox.wrapping import LANDLOCK, WorkerWrapper, wrap_worker

pytestmark = pytest.mark.anyio


def jailed(*command: str) -> subprocess.CompletedProcess[str]:
    """What a program comes to behind Landlock and seccomp."""
    line = [sys.executable, "-I", "-S", str(LANDLOCK), *command]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def refusing(folder: Path, said: str) -> Path:
    """A jail that does not work, as bubblewrap in most containers."""
    program = folder / "refusing"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    program.chmod(0o700)
    return program


async def test_where_bubblewrap_is_refused_workers_run_behind_landlock_and_still_work(tmp_path: Path) -> None:
    bwrap = refusing(tmp_path, "Creating new namespace failed")
    found = await wrap_worker(tmp_path, bwrap=str(bwrap))
    assert found.jailed
    assert "behind Landlock and seccomp" in found.reason
    assert "Creating new namespace failed" in found.reason
    calling = CodeSnippet("x = await Say(1)", functions=frozenset({"Say"}), keep=["x"])
    async with MontySandbox(max_workers=1, wrapping=found) as sandbox, sandbox.evaluate(calling) as it:
        await it.start()
        await it.resolve(0, CallOutcome("one"))
        assert it.kept == {"x": "one"}


async def test_where_no_jail_works_the_reason_names_both(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('the jail cannot be made: Landlock: Operation not supported')")
    found = await wrap_worker(tmp_path, bwrap="no-such-jail", by_landlock=broken)
    assert not found.jailed
    assert found.reason.startswith(
        "no-such-jail is not installed, nor does Landlock (the jail cannot be made: Landlock"
    )


def test_behind_landlock_nothing_is_read_or_written_but_libraries(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sesame")
    read = jailed("/bin/cat", str(secret), "/etc/passwd", "/proc/self/environ")
    assert (read.stdout, read.stderr.count("Permission denied")) == ("", 3)
    assert "Permission denied" in jailed("/bin/sh", "-c", f"echo x > {tmp_path}/new").stderr


def test_behind_landlock_there_is_no_network_no_environment_and_nobody_to_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARLEY_SECRET", "sesame")
    assert jailed("/usr/bin/env").stdout == ""
    assert "Operation not permitted" in jailed("/bin/bash", "-c", f"kill -0 {os.getpid()}").stderr
    assert "Operation not permitted" in jailed("/usr/bin/unshare", "--user", "true").stderr
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = jailed("/bin/bash", "-c", f"echo hi > /dev/tcp/127.0.0.1/{server.getsockname()[1]}")
    assert "socket: Operation not permitted" in called.stderr


def no_jail(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(_directory: Path) -> WorkerWrapper:
        return WorkerWrapper(None, "bwrap is not installed")

    monkeypatch.setattr(wrapping, "wrap_worker", none)


async def test_a_jail_that_is_required_and_missing_ends_the_start_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_jail(monkeypatch)
    required = Settings(sandbox=SandboxSettings(jail="required"))
    with pytest.raises(ConfigError, match=r"sandbox\.jail is required, and bwrap is not installed\. Install"):
        async with open_sandbox(required):
            pass


async def test_a_jail_that_is_missing_is_told_to_the_log_and_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    no_jail(monkeypatch)
    heard: list[tuple[str, object]] = []

    def tell(what: Happening) -> None:
        heard.append((what.name, what.data()["reason"]))

    async def waiting(_: object) -> tuple[int, int]:
        return 0, 0

    async with open_sandbox(Settings(), on_event=tell) as sandbox:
        jail = sandbox.wrapping
        metrics = ProcessMetrics(NodeGauges(frozenset, int, int, int, int, lambda: jail.jailed, waiting))
        read = {one.name: one for one in text_string_to_metric_families((await metrics.text()).decode())}
    assert heard == [("sandbox.unjailed", "bwrap is not installed")]
    assert read["parley_sandbox_jailed"].samples[0].value == 0
