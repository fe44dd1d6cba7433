# Host
Calls meetings with people.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says that it is there, then listens."""
    await Say("user", "I call meetings.")
    await Listen()


@playbook
async def Listen():
    """Calls a meeting on "meet"."""
    for message in await WaitForMessage("user"):
        if message["text"] == "meet":
            await Say("user", f"It came to {await Council()}.")
        else:
            await Say("user", "At home: " + message["text"])
    return Again()


@playbook(meeting=True, required_attendees=["user"], topic="The boat")
async def Council():
    """Hears what people think until one of them says that it is done."""
    heard = []
    while True:
        for message in await WaitForMessage("meeting"):
            if message.get("human") and message["text"] == "done":
                return " and ".join(heard)
            if message.get("human"):
                heard.append(message["text"])
                await Say("meeting", f"{message['name']} says {message['text']}.")
```
