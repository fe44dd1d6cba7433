"""What notebooks, which are clients' own tapes, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

notebooks = Feature("notebooks", jobs=LatePart("notebooks.redis:jobs"), tapes=LatePart("notebooks.door:open_door"))
