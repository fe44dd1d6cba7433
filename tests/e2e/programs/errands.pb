# Desk
Has errands done in the background.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Is there."""
    await Say("user", "I am here.")
    await Serve()


@playbook
async def Serve():
    """Several errands at once, or one that nobody waits for."""
    for message in await WaitForMessage("*"):
        if message["text"] in ("go", "go alone"):
            errands = ("Fetch", "Break", "Idle", "Choose", "Whose") if message["text"] == "go" else ("Fetch", "Break", "Idle")
            names = [await Spawn("Runner", name) for name in errands]
            await Say("user", f"{len(names)} errands")
            await Cancel(names[2])
            for name in names:
                try:
                    await Say("user", f"{name}: {await Result(name)}")
                except Exception as error:
                    await Say("user", str(error))
        elif message["text"] == "later":
            await Spawn("Runner", "Fetch")
        elif message["text"] == "idle":
            await Spawn("Runner", "Idle")
            await Say("user", "idle")
        elif message["text"] == "which":
            await Say("user", "so " + await Ask("Which one?"))
        else:
            await Say("user", message["text"].partition(" (facts")[0])
    return Again()
```

# Runner
Does errands.

```python
import asyncio


async def counted(until):
    """Numbers, one after the other."""
    for number in range(until):
        yield f"{number} "
        await asyncio.sleep(0.1)


@playbook(public=True)
async def Count(until: int):
    """Counts aloud."""
    await Say("user", counted(until))


@playbook(public=True)
async def Fetch():
    """Takes a moment."""
    await Sleep(3)
    return "fetched"


@playbook(public=True)
async def Break():
    """Comes to nothing."""
    raise ValueError("it broke")


@playbook(public=True)
async def Announce():
    """Tells other programs that a build has failed."""
    await Publish("build.failed", {"number": 33})
    return "announced"


@playbook(public=True)
async def Idle():
    """Takes longer than anybody waits."""
    await Sleep(500)


@playbook(public=True)
async def Listen():
    """Asks, says that it has heard, and hears what it is told."""
    way = await Ask("Which way?", ["left", "right"])
    await Say("user", f"I go {way}.")
    (message,) = await WaitForMessage("user")
    return [way, message["text"]]


@playbook(public=True)
async def Carry(what: str, times: int = 1):
    """Carries something."""
    await Say("user", f"I carry {what}.")
    return " ".join([what] * times)


@playbook(public=True)
async def Delegate():
    """Has somebody else ask."""
    return await Result(await Spawn("Runner", "Choose"))


@playbook(public=True)
async def Choose():
    """Asks people."""
    return await Ask("Which way?", ["left", "right"])


@playbook(public=True)
async def Whose():
    """Asks people for words."""
    return await Ask("Whose errand?")


@playbook(triggers=["When the event build.failed arrives"])
async def Mend(number: int, event: dict):
    """Begins when another program says that a build has failed."""
    await Sleep(1)
    return f"mended {number}, of {event['source']}"
```
