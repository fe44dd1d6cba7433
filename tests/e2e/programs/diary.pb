---
memory: true
---
# Diary
Remembers what people say of themselves.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Is there."""
    await Say("user", "I am here.")
    await Serve()


@playbook
async def Serve():
    """Remembers and recalls."""
    for message in await WaitForMessage("user"):
        what, _, rest = message["text"].partition(" ")
        if what == "remember":
            await Say("user", await Remember(rest))
        else:
            await Say("user", "; ".join(await Recall(message["text"])) or "I know nothing.")
    return Again()
```
