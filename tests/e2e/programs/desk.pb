# Desk
Asks before it acts, and works on files.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says that it is there, then does what it is told."""
    await Say("user", "The desk is open.")
    await Serve()


@playbook
async def Serve():
    """Ships on approval, counts the words of a file, or says what it was told."""
    for message in await WaitForMessage("user"):
        if message["text"] == "ship":
            answer = await Ask("Ship the order?", ["Yes", "No"])
            await Say("user", "Shipped." if answer == "Yes" else "Not shipped.")
        elif message["text"] == "count":
            text = await ReadFile("words.txt")
            await SendFile("count.txt", f"{len(text.split())} words", "Here is the count.")
        else:
            await Say("user", f"You said: {message['text']}")
    return Again()
```
