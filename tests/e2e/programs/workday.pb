# Desk
Has what people want to know studied in the background.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Is there."""
    await Say("user", "The desk is open.")
    await Serve()


@playbook
async def Serve():
    """Has several things studied at once, and says what came of each."""
    for message in await WaitForMessage("user"):
        word, _, topics = message["text"].partition(" ")
        if word == "break":
            raise ValueError("The desk has collapsed.")
        names = [await Spawn("Clerk", "Study", [topic]) for topic in topics.split()]
        await Say("user", f"{len(names)} clerks are at it.")
        await Say("user", "; ".join([await Result(name) for name in names]))
    return Again()
```

# Clerk
Studies things.

```python
@playbook(public=True)
async def Study(topic: str):
    """Takes its time."""
    await Sleep(1.5)
    return f"all about {topic}"
```
