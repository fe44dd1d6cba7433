"""The routes of a node for those who ask its models, or execute its tasks: clients, and isolated tasks."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Mount

from gateway.assembly.foundation import Foundation
from gateway.clients.admission import Admission
from gateway.clients.model.budget import Budgets
from gateway.clients.model.door import PREFIX as MODELS
from gateway.clients.model.door import ModelDoor
from gateway.settings.connections.clients import client_budgets, client_scopes, client_tokens
from runtime.storage.redis.operation.counters import RedisCounters


def node_doors_of(foundation: Foundation) -> Sequence[BaseRoute]:
    """The routes; none where there are neither clients nor isolated tasks, or no models."""
    own, clock, engine, isolated = foundation.settings, foundation.clock, foundation.engine, foundation.isolated
    if engine is None or not (own.clients or isolated):
        return []
    budgets = Budgets(client_budgets(own.clients), RedisCounters(foundation.connection), clock)
    admission = Admission(client_tokens(own.clients), client_scopes(own.clients), clock)
    door = ModelDoor(admission, engine.llm.clients, budgets, foundation.bus, clock, isolated)
    return [Mount(MODELS, door.app()), *([] if isolated is None else [isolated.route])]
