"""A program that remembers and recalls what people tell it to, and the memories of its node."""

from msgspec.structs import replace

from gateway.features.memories.books import Memories, Silence
from gateway.features.memories.settings import MemorySettings
from runtime.core.clock import Clock
from runtime.language.program import Program
from runtime.stores.memories import MemoryStore
from tests.fakes.observing.records import MemoryRecords
from tests.unit.runtime.sessions.programs import MAIN, agent, program

_CODE = """
async def Main():
    texts = [agent.state.startup_message]
    while True:
        for text in texts:
            what, _, rest = text.partition(" ")
            if what == "remember":
                await Say("user", await Remember(rest))
            elif what == "about":
                about, _, told = rest.partition(": ")
                await Say("user", await Remember(told, about))
            elif what == "recall":
                await Say("user", "; ".join(await Recall(rest)) or "nothing")
            elif text:
                await Say("user", "heard " + text)
        texts = [message["text"] for message in await WaitForMessage("user")]
"""


def remembering(memory: object = True, name: str = "test") -> Program:
    """`remember TEXT`, `about WHOM: TEXT` and `recall QUESTION` do that, and say what came of it."""
    made = program(agent("Main", MAIN, code=_CODE))
    return replace(made, name=name, metadata={"memory": memory})


def memories_of(
    store: MemoryStore,
    clock: Clock,
    *programs: str,
    limits: MemorySettings | None = None,
    silence: Silence | None = None,
) -> Memories:
    """The memories of a node, on for these programs; for the one called `test` where none is named."""
    silence = silence or Silence(MemoryRecords())
    return Memories(store, clock, dict.fromkeys(programs or ("test",), True).get, silence, limits or MemorySettings())
