"""What tasks, which programs have done in the background, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

tasks = Feature(
    "tasks",
    calls=[LatePart("tasks.calls:TaskCalls"), LatePart("tasks.calls:TellCalls")],
    node=LatePart("tasks.node:open_node"),
    tried=LatePart("tasks.node:tried"),
    views=LatePart("tasks.register:task_routes"),
)
