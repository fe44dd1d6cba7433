"""What files, which people send and programs read and send, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

files = Feature(
    "files",
    calls=[LatePart("files.calls:FileCalls")],
    node=LatePart("files.node:open_node"),
    tried=LatePart("files.node:tried"),
)
