# Digger
Is ordered to do things that a task in a process of its own may do, and things that it may not.

```python
import os
import socket
from pathlib import Path


@playbook(public=True)
async def Dig(folder: str, port: int):
    """Looks for secrets wherever code can look, and says what it finds."""
    found, refused = [repr(dict(os.environ))], []
    processes = [Path("/proc/self"), Path(f"/proc/{os.getppid()}")]
    files = [place / name for place in processes for name in ("environ", "cmdline")]
    for file in (*files, Path(folder, "web-secret"), Path(folder, "asker")):
        try:
            found.append(file.read_text())
        except OSError as error:
            refused.append(f"{file.name}: {type(error).__name__}")
    for name, family, kind in (("unix", socket.AF_UNIX, socket.SOCK_STREAM), ("udp", socket.AF_INET, socket.SOCK_DGRAM)):
        try:
            socket.socket(family, kind)
            refused.append(f"{name} is open")
        except OSError as error:
            refused.append(f"{name}: {type(error).__name__}")
    try:
        socket.create_connection(("127.0.0.1", port))
        refused.append("network is open")
    except OSError as error:
        refused.append(f"network: {type(error).__name__}")
    try:
        os.kill(os.getppid(), 0)
        refused.append("signals go out")
    except OSError as error:
        refused.append(f"signal: {type(error).__name__}")
    return {"found": " ".join(found), "refused": refused, "here": os.listdir(".")}


@playbook(public=True)
async def Fetch():
    """Takes a moment, in two steps."""
    await Say("user", "I go.")
    await Sleep(2)
    return "fetched"


@playbook(public=True)
async def Idle():
    """Takes longer than anybody waits."""
    await Sleep(500)


@playbook(public=True)
async def Delegate():
    """Has somebody else ask."""
    return await Result(await Spawn("Digger", "Choose"))


@playbook(public=True)
async def Choose():
    """Asks people."""
    return await Ask("Which way?", ["left", "right"])


@playbook(public=True)
async def Die():
    """Ends its own process, each time."""
    os._exit(9)


@playbook(public=True)
async def Think():
    """Asks the model."""
    return await Greet()
```

## Greet
execution_mode: raw
Say hello to the world.
