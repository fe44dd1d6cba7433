"""What notebooks, which are clients' own tapes, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

notebooks = Feature("notebooks", jobs=Later("notebooks.retention:jobs"), tapes=Later("notebooks.door:open_door"))
