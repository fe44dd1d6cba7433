"""What notifications of browsers add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

pushes = Feature("pushes", pages=Later("pushes.door:open_pushes"))
