"""What files, which people send and programs read and send, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

files = Feature(
    "files", calls=[Later("files.calls:FileCalls")], node=Later("files.node:open_node"), tried=Later("files.node:tried")
)
