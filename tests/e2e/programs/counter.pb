# Counter
Counts what it is told, however long ago it was told something.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says what it does, then does it."""
    await Say("user", "I count.")
    await Count(1)


@playbook
async def Count(number):
    """Says how many messages there were."""
    await WaitForMessage("user")
    await Say("user", f"That was number {number}.")
    return Again(number + 1)
```
