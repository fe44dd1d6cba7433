"""The manifest in the documentation asks for what the adapter needs, and for no more."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from adapters.slack.codec import SCOPES
from tests.architecture.source_tree import ROOT


@pytest.fixture(scope="module")
def manifest() -> Any:
    text = (ROOT / "docs" / "slack.md").read_text()
    return yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])


def test_scopes_are_those_of_the_adapter(manifest: Any) -> None:
    assert manifest["oauth_config"]["scopes"]["bot"] == list(SCOPES)


def test_every_kind_of_message_comes_over_socket_mode(manifest: Any) -> None:
    kinds = {scope.removesuffix(":history") for scope in SCOPES if scope.endswith(":history")}
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {f"message.{kind}" for kind in kinds}
    assert manifest["settings"]["socket_mode_enabled"]
