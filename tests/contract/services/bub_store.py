"""Bub's own tape store, driven by lines of JSON: run with a Python that has Bub installed (3.12 or newer).

Usage: bub_store.py FOLDER. Each line on standard input is a request, and gets one line as its answer.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    stores, tapes = importlib.import_module("bub.store"), importlib.import_module("bub.tape")
    folder = Path(sys.argv[1])

    def told(entry: Any) -> dict[str, Any]:
        return {name: getattr(entry, name) for name in ("id", "kind", "payload", "meta", "date")}

    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        store = stores.FileTapeStore(folder)
        if "append" in asked:
            for entry in asked["append"]:
                made = tapes.TapeEntry(0, entry["kind"], entry["payload"], entry["meta"], entry["date"])
                store.append(asked["tape"], made)
            answer: Any = [path.read_text() for path in folder.glob("*.jsonl")]
        else:
            query = stores.TapeQuery(asked["tape"], store)
            if "after" in asked:
                query = query.last_anchor() if asked["after"] == "*" else query.after_anchor(asked["after"])
            if "kinds" in asked:
                query = query.kinds(*asked["kinds"])
            if "limit" in asked:
                query = query.limit(asked["limit"])
            answer = [told(entry) for entry in query.all()]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
