"""The standards are loaded when they are on, and say what they lack."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from anyio.abc import TaskGroup

from gateway.feature import ClientGround
from gateway.features.a2a.feature import a2a
from gateway.features.a2a.settings import A2aSettings
from gateway.settings.tree import Settings
from runtime.core.errors import ConfigError


def test_a2a_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gateway.features.a2a.door", None)
    settings = Settings(a2a=A2aSettings(on=True))
    with pytest.raises(ConfigError, match=r'needs the extra "a2a".*pip install "parley-gateway\[a2a\]"'):
        a2a.doors(cast("ClientGround", SimpleNamespace(settings=settings)), cast("TaskGroup", None))


def test_what_is_off_is_not_loaded() -> None:
    loaded = "[name for name in ('a2a', 'mcp.server', 'google') if name in sys.modules]"
    code = f"import sys, gateway.assembly.app; print({loaded})"
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
