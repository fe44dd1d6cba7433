"""What voices, recordings put into words and answers that are spoken, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart
from gateway.features.voice import facts as facts  # their kinds and rules

voice = Feature(
    "voice",
    entrance=LatePart("voice.node:entrance"),
    node=LatePart("voice.node:open_node"),
    tried=LatePart("voice.node:tried"),
)
