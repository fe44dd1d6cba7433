"""What is not there is not collected: with PARLEY_BUB_PYTHON, a Python that has Bub, notebooks are compared with it."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("PARLEY_BUB_PYTHON") else ["test_bub.py"]
