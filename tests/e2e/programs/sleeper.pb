# Sleeper
Sleeps as long as it is told, and says when it wakes.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Is there, and sleeps when somebody says how many seconds."""
    await Say("user", "I am here.")
    await Serve()


@playbook
async def Serve():
    """One sleep after the other."""
    for message in await WaitForMessage("user"):
        if message["text"].isdecimal():
            await Say("user", "good night")
            await Sleep(int(message["text"]))
            await Say("user", "good morning")
        else:
            await Say("user", f"{message['name']}: {message['text']}")
    return Again()
```
