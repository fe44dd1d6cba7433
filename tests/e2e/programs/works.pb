# Works
Does everything that a console has something to show of, a word each.

## Divide($people)
### Steps
- Set $share to 12 / $people
- Return $share

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says that it is there, then does what it is told."""
    await Var("count", 0)
    await Say("user", "I am at work.")
    await Serve()


@playbook
async def Serve():
    """Counts, unless a word has something else done."""
    seen = 0
    for message in await WaitForMessage("user"):
        seen += 1
        if message["text"] == "ask":
            await Say("user", await Ask("Ship the order?", ["Yes", "No"]))
        elif message["text"] == "buy":
            await Say("user", await Bank.buy("bread"))
        elif message["text"] == "break":
            await Say("user", f"Each gets {await Divide(0)}.")
        elif message["text"] == "order":
            await Spawn("Runner", "Idle")
            await Say("user", "ordered")
        elif message["text"] == "meet":
            await Council()
        else:
            await Var("count", variables["count"] + 1)
            await Say("user", f"{variables['count']}: {message['text']}")
    return Again()


@playbook(meeting=True, required_attendees=["user"], topic="The boat")
async def Council():
    """Hears what people think, until somebody ends it."""
    while True:
        await WaitForMessage("meeting")
```

# Runner
Has time.

```python
@playbook(public=True)
async def Idle():
    """Takes longer than anybody waits."""
    await Sleep(500)
```
