"""What the count by hours adds to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

hours = Feature("hours", node=LatePart("hours.ledger:open_node"), status=LatePart("hours.ledger:status"))
