# Baker
Shares a cake of twelve pieces.

## Divide($people)
### Steps
- Set $share to 12 / $people
- Return $share

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says what it does, then does it."""
    await Say("user", "I share a cake.")
    await Serve()


@playbook
async def Serve():
    """Shares the cake among the people of each message."""
    for message in await WaitForMessage("user"):
        await Say("user", f"Each gets {await Divide(int(message['text']))}.")
    return Again()
```
