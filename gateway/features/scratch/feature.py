"""What scratch rooms add to Parley: copies of sessions, spoken to and changed at the console."""

from __future__ import annotations

from gateway.feature import Feature, Later

scratch = Feature("scratch", views=Later("scratch.routes:scratch_routes"))
