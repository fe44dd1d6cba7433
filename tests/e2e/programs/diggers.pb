# Host
Calls a meeting in which others dig.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    """Says that it is there, then calls the meeting on "meet"."""
    await Say("user", "I call meetings.")
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "meet":
                await Council()


@playbook(meeting=True, required_attendees=["user", "North", "South"], topic="The boat")
async def Council():
    """Waits until somebody ends it."""
    while True:
        await WaitForMessage("meeting")
```

# North
Digs in the north.

```python
@playbook(meeting=True)
async def Council():
    """Digs when somebody says so."""
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "dig":
                await Say("meeting", f"North has found {await Coal(7)}.")

```

## Coal($depth)
### Steps
- Guess what lies in the ground at $depth metres, in a word, as $found
- Return $found

# South
Digs in the south.

```python
@playbook(meeting=True)
async def Council():
    """Digs when somebody says so."""
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "dig":
                await Say("meeting", f"South has found {await Gold(9)}.")

```

## Gold($depth)
### Steps
- Guess what lies in the ground at $depth metres, in a word, as $found
- Return $found
