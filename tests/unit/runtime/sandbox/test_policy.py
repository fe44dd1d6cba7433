"""The policy of statements, and the jail around the sandbox's workers."""

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.assembly.parts import open_sandbox
from gateway.built_in_calls import SIGNATURES
from gateway.observability.metrics import ProcessMetrics
from gateway.observability.watching import NodeGauges
from gateway.settings.execution import SandboxSettings
from gateway.settings.tree import Settings
from runtime.core.errors import ConfigError
from runtime.events.happening import Happening
from runtime.sandbox import wrapping
from runtime.sandbox.executor import CallOutcome, CodeSnippet
from runtime.sandbox.monty import MontySandbox
from runtime.sandbox.policy import HOST_FUNCTIONS, check
from runtime.sandbox.wrapping import LANDLOCK, WorkerWrapper, wrap_worker
from tests.unit.runtime.sandbox.hostile import HOSTILE

NEEDED = [
    'await Say("user", f"Nice to meet you, {name!r:>10}!")',
    'await Var("__", "Greeted Ada.")',
    "x = await Agent.Playbook(1, key=[2, *rest])",
    "a, b = await asyncio.gather(Fetch(1), Fetch(2))",
    "import asyncio",
    "from asyncio import gather",
    "import json, re, math",
    "from datetime import date, timedelta",
    "from collections import Counter as C",
    "total += sum(v for v in values if v > 3)",
    "count: int = len({k: v for k, v in table.items()})",
    "for i, row in enumerate(rows):\n    if i > 3:\n        break\n    else:\n        continue",
    "while (n := n - 1) > 0:\n    pass",
    'try:\n    await Pay()\nexcept ValueError as error:\n    await Say("user", str(error))\nfinally:\n    done = True',
    "async def twice(x, *rest, key=1, **more):\n    y = await Fetch(x)\n    return [y, y]",
    "key = lambda row: row['age'] if row else None",
    "match answer:\n    case {'kind': 'yes', **rest}:\n        x = 1\n    case [_, *others]:\n        pass",
    "text = 'a {} and {name:>4}'.format(1, name=2)",
    "text = names[0][1:3].strip().upper()",
    "assert total > 0, 'nothing to sum'",
    "raise ValueError('no such order')",
    "print(__)",
]


@pytest.mark.parametrize(
    ("source", "rule"), [(source, rule) for _, source, rule in HOSTILE], ids=[h[0] for h in HOSTILE]
)
def test_hostile_statement_is_refused_by_its_rule(source: str, rule: str | None) -> None:
    violation = check(ast.parse(source), protected=HOST_FUNCTIONS | SIGNATURES.keys())
    assert (violation.rule if violation else None) == rule


@pytest.mark.parametrize("source", NEEDED)
def test_statement_that_a_reply_needs_is_let_through(source: str) -> None:
    assert check(ast.parse(source)) is None


def test_violation_names_the_name() -> None:
    violation = check(ast.parse("x = 1\nif x:\n    y = open('a')"))
    assert violation is not None
    assert "open" in violation.message


def test_names_of_the_program_can_be_protected_too() -> None:
    violation = check(ast.parse("Shop = 1"), protected=frozenset({"Shop"}))
    assert violation is not None
    assert violation.rule == "protected"


def test_statement_is_judged_without_its_module_too() -> None:
    violation = check(ast.parse("import os").body[0])
    assert violation is not None
    assert violation.rule == "import"


def test_deep_tree_is_refused_without_recursion() -> None:
    node: ast.expr = ast.Constant(1)
    for _ in range(50_000):
        node = ast.UnaryOp(ast.Not(), node)
    violation = check(ast.Expr(node))
    while isinstance(node, ast.UnaryOp):  # taken apart by hand: freeing it whole would overflow the C stack
        node = node.operand
    assert violation is not None
    assert violation.rule == "size"


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
