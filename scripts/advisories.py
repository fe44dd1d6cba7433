"""Known vulnerabilities of the pinned dependencies, as `pip-audit` finds them in the advisories of PyPI.

    python scripts/advisories.py requirements.txt

Exit code 1 where there are some, 0 where there are none, and 2 where nobody could be asked about all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def verdict(report: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The exit code and what to print about a report of pip-audit."""
    asked = report["dependencies"]
    unknown = [one["name"] for one in asked if "skip_reason" in one]
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for one in asked
        for flaw in one.get("vulns", ())
    ]
    rows = [*found, f"Advisories: {len(found)}. Packages checked: {len(asked) - len(unknown)}."]
    if unknown:
        rows.append(f"Not checked, since the index knows no advisories of them: {', '.join(unknown)}.")
    return (1 if found else 2 if unknown else 0), rows


def _report(pins: str, folder: Path) -> Mapping[str, Any]:
    """The report about a file of pins, by a pip-audit of its own. Raises OSError and CalledProcessError."""
    venv.create(folder / "env", with_pip=True)
    python, out = str(folder / "env" / "bin" / "python"), folder / "report.json"
    subprocess.run([python, "-m", "pip", "--quiet", "install", "pip-audit>=2.9,<3"], check=True)
    audit = [python, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
    subprocess.run(
        [*audit, "--format", "json", "--output", str(out), "--requirement", pins],
        check=False,
        stderr=subprocess.DEVNULL,
    )
    told: Mapping[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return told


def main(pins: str) -> int:
    """Ask, and print the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            code, rows = verdict(_report(pins, Path(folder)))
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            code, rows = 2, [f"Not checked: pip-audit did not come to an end ({error}). Is there a network?"]
    sys.stdout.write("\n".join(rows) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
