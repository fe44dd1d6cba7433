"""The part of notebooks in `parley sessions prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.cli.operate.database import when

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase

COLUMNS = ("NOTEBOOK", "LAST CHANGE", "ENTRIES", "DO", "BY")


async def old_notebooks(database: GatewayDatabase) -> list[tuple[str, ...]]:
    """The rows of those that the settings delete."""
    from gateway.features.notebooks.redis import retention_in

    old = await retention_in(database).plan()
    return [(one.name, when(one.changed_at), str(one.written), "delete", "retention.notebooks_days") for one in old]


async def delete_old(database: GatewayDatabase) -> int:
    """Delete them; how many there were."""
    from gateway.features.notebooks.redis import retention_in

    return await retention_in(database).apply()
