"""Every figure in one table: `python -m benchmarks [NAME…]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from benchmarks.table import Row, show


def modules(wanted: list[str]) -> list[str]:
    """The benchmarks: modules of this folder with a `run`; all of them unless some are named."""
    here = str(Path(__file__).parent)
    names = [found.name for found in pkgutil.iter_modules([here]) if found.name not in ("__main__", "table")]
    if unknown := set(wanted) - set(names):
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    return wanted or names


def main() -> None:
    """Run them one after the other, then print the table."""
    rows: list[Row] = []
    for name in modules(sys.argv[1:]):
        module = importlib.import_module(f"benchmarks.{name}")
        if hasattr(module, "run"):
            print(f"measuring {name}", file=sys.stderr, flush=True)
            rows += module.run()
    print(show(rows))


if __name__ == "__main__":
    main()
