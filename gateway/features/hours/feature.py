"""What the count by hours adds to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

hours = Feature("hours", node=Later("hours.ledger:open_node"), status=Later("hours.ledger:status"))
