"""What is started beside the gateway loads on its own, before anything has read the features."""

from __future__ import annotations

import subprocess
import sys

import pytest

_ALL_OF_THE_RUNTIME = """
import importlib, pkgutil, sys, runtime
for module in pkgutil.walk_packages(runtime.__path__, "runtime."):
    if not module.name.endswith("main"):
        importlib.import_module(module.name)
sys.exit(", ".join(name for name in sys.modules if name.startswith(("gateway", "adapters"))) or None)
"""


@pytest.mark.parametrize("code", ["import evals.run", "import benchmarks.gateway.start", _ALL_OF_THE_RUNTIME])
def test_what_is_started_alone_loads_and_the_runtime_needs_nothing_above_it(code: str) -> None:
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert loaded.returncode == 0, loaded.stderr
