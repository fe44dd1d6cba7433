---
title: Somebody in another process
---
# Guide
Knows nothing itself and asks the scout, who is played by another process: `scout.py`. It is written in Python, so it
needs no language model; an agent in natural language speaks with `Scout` in the same way.

```python
@playbook(triggers=["When program starts"])
async def Welcome():
    """Says what it can do, then passes on what it hears."""
    await Say("user", "Name a direction, such as **north**, and I ask the scout.")
    await Answer()


@playbook
async def Answer():
    """Asks the scout what people ask, and tells people what the scout says, again and again."""
    for message in await WaitForMessage("*"):
        if message.get("human"):
            await Say("Scout", message["text"].strip())
        else:
            await Say("user", f"The scout says: {message['text']}")
    return Again()
```

# Scout:Remote
participant: scout
Knows where the paths lead. Connects when it likes; what is asked meanwhile waits for it.
