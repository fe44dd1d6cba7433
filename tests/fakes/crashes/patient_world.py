"""A world whose time does not come to what is far away: what waits for real processes is not late."""

import anyio

from tests.fakes.crashes.world import TurboClock, World

FAR_S = 1_000_000


class PatientClock(TurboClock):
    """Does not come to what is far away."""

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s >= FAR_S:
            await anyio.sleep_forever()
        await super().sleep_until(monotonic_s)


def patient_world() -> World:
    world = World(())
    world.clock = PatientClock()
    return world
