"""A person who does not answer is asked so often and no oftener, whatever dies meanwhile."""

from runtime.sandbox.monty import MontySandbox
from tests.sampling import sample
from tests.unit.runtime.sessions.crashes.programs.meetings import ASKED, UNANSWERED
from tests.unit.runtime.sessions.crashes.test_crashes import check, run


async def test_nobody_is_asked_oftener_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    calm = await run(UNANSWERED, sandbox, crashes=(), seed=0)
    check(calm, UNANSWERED)
    assert [shown.text for shown in calm.chat].count(ASKED) == 5
    for point in sample().of(range(1, calm.points + 1)):
        world = await run(UNANSWERED, sandbox, crashes=(point,), seed=point)
        check(world, UNANSWERED)
        asked = [fact.data["times"] for fact in world.facts if fact.kind == "asked"]
        assert asked == [1, 2, 3, 4, 5]
