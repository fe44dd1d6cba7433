"""What notifications of browsers add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

pushes = Feature("pushes", pages=LatePart("pushes.door:open_pushes"))
