"""What is not there is not collected: the client in JavaScript, which scripts/install-test-tools.sh installs."""

from __future__ import annotations

from pathlib import Path

collect_ignore = [] if (Path(__file__).parent / "a2a_js" / "node_modules").is_dir() else ["test_a2a_js.py"]
