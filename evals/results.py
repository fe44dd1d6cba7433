"""Runs on file: a line of JSON each, written when the run is over, so that nothing of it is lost and it can go on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from evals.record import Cost, Record
from evals.talks import TalkRejected
from runtime.core.json_text import plain_data


class Run(Struct, frozen=True):
    """One run of a program, and what was wrong in it."""

    record: Record
    wrong: Sequence[str]


class ResultFile:
    """The runs of one model. `kept` are those that stood in the file when it was opened, by program."""

    def __init__(self, path: Path, model: str, kept: Mapping[str, Sequence[Run]]) -> None:
        self.path = path
        self.kept = kept
        self._model = model

    @classmethod
    def opened(cls, path: Path, model: str) -> Self:
        """The file, a new one or one to go on with. Raises TalkRejected where it is not of this model."""
        kept: dict[str, list[Run]] = defaultdict(list)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a line that was cut off is a run that was
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                data = json.loads(line)
                if data["model"] != model:
                    raise TalkRejected(f"{path} holds runs of {data['model']}, not of {model}; name another file")
                kept[data["program"]].append(_run(data))
            except (ValueError, KeyError, TypeError) as error:
                raise TalkRejected(f"{path}, line {number}, is no result of an eval: {error!r}") from error
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(whole, encoding="utf-8")
        return cls(path, model, kept)

    def add(self, program: str, run: Run) -> None:
        """Write one more run."""
        data = {"model": self._model, "program": program, "wrong": list(run.wrong), "record": plain_data(run.record)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, ensure_ascii=False, default=repr) + "\n")


def _run(data: Mapping[str, Any]) -> Run:
    """As much of a run as its row in the table needs."""
    record = data["record"]
    return Run(Record(record["how"], record["why"], cost=Cost(**record["cost"])), data["wrong"])
