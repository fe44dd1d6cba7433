# Counter
Counts what it is told, and asks before it forgets.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says that it is there, then counts."""
    await Var("count", 0)
    await Say("user", "I count.")
    await Count()


@playbook
async def Count():
    """Counts messages; on "reset" it asks whether to begin anew."""
    for message in await WaitForMessage("user"):
        if message["text"] == "reset":
            sure = await Ask("Begin anew?", ["Yes", "No"])
            await Var("count", 0 if sure == "Yes" else variables["count"])
            await Say("user", f"Now at {variables['count']}.")
        else:
            await Var("count", variables["count"] + 1)
            await Say("user", f"{variables['count']}: {message['text']}")
    return Again()
```
