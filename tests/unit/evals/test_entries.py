"""What is started beside the gateway loads on its own, before anything has read the features."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["evals.run", "benchmarks.gateway.start", "runtime.sessions.session"])
def test_a_module_that_is_started_alone_loads(module: str) -> None:
    loaded = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, timeout=60)
    assert loaded.returncode == 0, loaded.stderr
