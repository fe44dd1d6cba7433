---
memory: true
---
# Clerk
Reads what people send.

```python
@playbook(triggers=["When program starts"])
async def Main():
    await Say("user", await Remember("likes rye"))
    await Say("user", await Result(await Spawn("Clerk", "Work")))


@playbook(public=True)
async def Work():
    """Recalls, weighs and looks, in a process of its own."""
    photo = await Ask("A photo?")
    found = [await Recall("rye"), await Weigh("bread")]
    await Look(photo)
    return str(found)
```

## Look($photo)
### Steps
- Tell the user what is on $photo
