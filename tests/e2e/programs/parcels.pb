---
a2a: true
---
# Courier
Brings parcels.

```python
import asyncio


@playbook(triggers=["When program starts"])
async def Begin():
    """Is there."""
    await Say("user", "I am here.")


@playbook(public=True)
async def Bring(what: str, times: int = 1):
    """Brings something, and says so."""
    await Say("user", f"I fetch {what}.")
    await Sleep(2)
    await Say("user", f"I bring {what}.")
    return {"brought": [what] * times}


@playbook(public=True)
async def Choose(what: str):
    """Asks where to."""
    await Say("user", f"I have {what}.")
    where = await Ask(f"Where does {what} go?", ["left", "right"])
    await Say("user", f"I go {where}.")
    return f"{what} went {where}"


@playbook(public=True)
async def Lose():
    """Comes to nothing."""
    raise ValueError("it is gone")


@playbook(public=True)
async def Idle():
    """Takes longer than anybody waits."""
    await Sleep(500)


async def written(words, pause_s):
    """A text word by word."""
    for number in range(words):
        yield f"word {number} "
        await asyncio.sleep(pause_s)


@playbook(public=True)
async def Tell(words: int):
    """Says something long, word by word."""
    await Say("user", written(words, 0.1))
    return words
```
