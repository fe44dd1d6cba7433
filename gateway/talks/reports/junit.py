"""Results of talks as a JUnit file, which continuous integration reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as Xml

from gateway.talks.reports.listing import result_lines
from gateway.talks.reports.results import TalkResult

_WIDTH = 120
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


def write_junit(file: Path, results: Sequence[TalkResult]) -> None:
    """Write a suite for each talk file, with a case for each talk. Raises OSError."""
    root = Xml.Element("testsuites", name="parley test")
    for path, some in groupby(results, lambda result: result.file):
        cases = list(some)
        failed = sum(not case.passed for case in cases)
        seconds = f"{sum(case.seconds for case in cases):.3f}"
        counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "time": seconds}
        suite = Xml.SubElement(root, "testsuite", {"name": str(path), **counts})
        for case in cases:
            place = {"classname": str(path), "file": str(path), "line": str(case.talk.line)}
            named = {"name": _clean(case.talk.title), "time": f"{case.seconds:.3f}", **place}
            element = Xml.SubElement(suite, "testcase", named)
            if not case.passed:
                first, *lines = result_lines(case, _WIDTH)
                failure = Xml.SubElement(element, "failure", message=_clean(first))
                failure.text = _clean("\n".join(lines))
    Xml.indent(root)
    Xml.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
