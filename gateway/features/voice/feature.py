"""What voices, recordings put into words and answers that are spoken, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later
from gateway.features.voice import facts as facts  # their kinds and rules

voice = Feature(
    "voice",
    entrance=Later("voice.node:entrance"),
    node=Later("voice.node:open_node"),
    tried=Later("voice.node:tried"),
)
