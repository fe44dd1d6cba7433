"""Adapters: what one can do by its methods is what it says by its capabilities."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

import pytest

from adapters.capabilities import Capabilities
from tests.architecture.source_tree import ROOT

MEANS: Mapping[str, Callable[[Capabilities], bool]] = {
    "edit": lambda able: able.edits,
    "delete": lambda able: able.deletes,
    "open_stream": lambda able: able.stream is not None,
    "preview": lambda able: able.preview is not None,
    "offer": lambda able: able.max_choices > 0,
    "open_thread": lambda able: able.threads,
    "react": lambda able: able.reactions,
    "typing": lambda able: able.typing_lasts_s is not None,
}
"""The method of each optional part of the port, and whether the capabilities say that it is there.

Not files: the web chat takes them where it is given a store for them."""

PLATFORMS = sorted(path.parent.name for path in (ROOT / "adapters").glob("*/adapter.py"))


def _adapter(platform: str) -> tuple[type, Capabilities]:
    module = importlib.import_module(f"adapters.{platform}.adapter")
    (capabilities,) = {value for value in vars(module).values() if isinstance(value, Capabilities)}
    return getattr(module, f"{platform.capitalize()}Adapter"), capabilities


def test_adapters_are_found() -> None:
    assert {"discord", "slack", "telegram", "web"} <= set(PLATFORMS)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_adapter_has_the_methods_of_the_port(platform: str) -> None:
    adapter, _ = _adapter(platform)
    members = ("name", "capabilities", "connect", "budget", "check", "send")
    assert [member for member in members if not hasattr(adapter, member)] == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_capabilities_and_methods_agree(platform: str) -> None:
    adapter, capabilities = _adapter(platform)
    said = {method for method, is_said in MEANS.items() if is_said(capabilities)}
    assert said == {method for method in MEANS if hasattr(adapter, method)}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_limits_are_sane_and_have_a_source(platform: str) -> None:
    _, capabilities = _adapter(platform)
    assert capabilities.source.strip()
    assert capabilities.max_text >= 100
    for budget in (capabilities.private_budget, capabilities.group_budget, capabilities.total_budget):
        assert budget.rate_per_s > 0
        assert budget.burst >= 1
