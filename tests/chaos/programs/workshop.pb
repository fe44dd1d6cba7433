# Workshop
Has things done in the background, and tells what came of each.

```python
LONG_S = 10_000_000


@playbook(triggers=["When program starts"])
async def Open():
    """Begins to count."""
    await Var("count", 0)
    await Say("user", "The workshop is open.")
    await Serve()


@playbook
async def Serve():
    """Does one thing after the other, again and again; hears of results that nobody waits for."""
    for message in await WaitForMessage("*"):
        if message["text"].startswith("Task "):
            await Say("user", message["text"].partition(" (facts")[0])
            continue
        number = variables["count"] + 1
        await Var("count", number)
        word, _, rest = message["text"].partition(" ")
        await Do(number=number, word=word, rest=rest)
    return Again()


@playbook
async def Do(number, word, rest):
    """One thing."""
    if word == "three":
        names = [await Spawn("Hand", "Make", {"what": f"{rest}{each}"}, within_s=LONG_S) for each in "abc"]
        made = [await Result(name) for name in reversed(names)]
        await Say("user", f"{number}. There are {', '.join(made)}.")
    elif word == "parts":
        made = await Result(await Spawn("Hand", "Assemble", {"what": rest}, within_s=LONG_S))
        await Say("user", f"{number}. It is {made}.")
    elif word == "cancel":
        name = await Spawn("Hand", "Rest", within_s=LONG_S)
        await Cancel(name)
        await Say("user", f"{number}. {await Ended(name=name)}.")
    elif word == "break":
        name = await Spawn("Hand", "Break", {"what": rest}, within_s=LONG_S)
        await Say("user", f"{number}. {await Ended(name=name)}.")
    elif word == "choose":
        answer = await Result(await Spawn("Hand", "Choose", {"what": rest}, within_s=LONG_S))
        await Say("user", f"{number}. {answer}, said of {rest}.")
    elif word == "later":
        await Spawn("Hand", "Make", {"what": rest}, within_s=LONG_S)
    else:
        await Say("user", f"{number}. I heard {rest}.")


@playbook
async def Ended(name):
    """How a task has ended that has no result."""
    try:
        return await Result(name)
    except Exception as error:
        return str(error)
```

# Hand
Makes things, and breaks them.

```python
LONG_S = 10_000_000


@playbook(public=True)
async def Make(what):
    """One thing, in a moment."""
    await Sleep(0.5)
    return f"one {what}"


@playbook(public=True)
async def Assemble(what):
    """A thing of two parts, each of which another makes."""
    names = [await Spawn("Hand", "Make", {"what": f"{what}{each}"}, within_s=LONG_S) for each in "xy"]
    return " and ".join([await Result(name) for name in names])


@playbook(public=True)
async def Rest():
    """Longer than anybody waits."""
    await Sleep(LONG_S)


@playbook(public=True)
async def Break(what):
    """Comes to nothing."""
    raise ValueError(f"{what} is broken")


@playbook(public=True)
async def Choose(what):
    """Asks people."""
    return await Ask(f"Shall we make {what}?", ["Yes", "No"])
```
