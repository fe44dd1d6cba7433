"""What scratch rooms add to Parley: copies of sessions, spoken to and changed at the console."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

scratch = Feature("scratch", views=LatePart("scratch.routes:scratch_routes"))
