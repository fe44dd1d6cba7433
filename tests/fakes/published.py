"""What the settings let programs publish, over the parts of a test."""

from collections.abc import Mapping

from gateway.clients.events import EventTriggers
from gateway.clients.scopes import ClientScopes
from gateway.clients.tasks.service import TaskDoor, TaskOrdering
from gateway.features.publishing.node import ProgramEvents
from runtime.language.program import Program
from runtime.stores.orders import TaskLimits
from tests.fakes.crashes.world import World


def events_of(world: World, programs: Mapping[str, Program], publishers: Mapping[str, ClientScopes]) -> ProgramEvents:
    """The door for the events of these programs."""
    door = TaskDoor(programs, world, world, world.clock, TaskLimits())  # type: ignore[arg-type]
    return ProgramEvents(publishers, EventTriggers(TaskOrdering(door)))
