# Chair

```python
@playbook(triggers=["When program starts"])
async def Main():
    await Say("user", "Who is who?")
    for message in await WaitForMessage("Bob"):
        await Say("Bob", f"welcome, {message['name']}")
    votes = await Ask("Shall we?", ["Yes", "No"], of=["Alice", "Bob"])
    await Say("Alice", f"you said {votes['Alice']}")
    await Say("Alice", f"Bob said {votes['Bob']}")
    await WaitForMessage("user")
```

# Alice:Human

delivery_channel: buffered
buffer_timeout: 600

# Bob:Human
