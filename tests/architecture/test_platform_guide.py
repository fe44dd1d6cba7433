"""The examples of docs/connecting/adding-a-platform.md are pieces of the adapter that the shared suite runs."""

from __future__ import annotations

import re

from adapters import adapter, asides
from tests.architecture.source_tree import ROOT

GUIDE = (ROOT / "docs" / "connecting" / "adding-a-platform.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "tests" / "fakes" / "platforms" / "minimal_adapter.py").read_text(encoding="utf-8")


def test_examples_stand_in_the_minimal_adapter_to_the_letter() -> None:
    examples = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert len(examples) >= 4
    assert [example for example in examples if example not in EXAMPLE] == []


def test_the_minimal_adapter_stays_about_a_hundred_lines() -> None:
    assert len(EXAMPLE.splitlines()) <= 130


def test_every_protocol_of_the_port_is_named_in_the_guide() -> None:
    names = [name for module in (adapter, asides) for name in vars(module)]
    protocols = [name for name in names if re.match(r"(Can|Counts|Answers|Holds|Hears)[A-Z]", name)]
    assert len(protocols) > 10
    assert [name for name in protocols if f"`{name}`" not in GUIDE] == []
