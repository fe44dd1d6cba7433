"""What tasks, which programs have done in the background, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

tasks = Feature(
    "tasks",
    calls=[Later("tasks.calls:TaskCalls"), Later("tasks.calls:TellCalls")],
    node=Later("tasks.node:open_node"),
    tried=Later("tasks.node:tried"),
    views=Later("tasks.register:task_routes"),
)
