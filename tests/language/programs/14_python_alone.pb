# Machine

```python
from dataclasses import dataclass


@dataclass
class Point:
    x: int
    y: int


@playbook(triggers=["T1:BGN When program starts"], public=True)
async def Main() -> None:
    """Says where we are."""
    point = Point(1, 2)
    await Say("user", f"{point.x}, {point.y}")
    await EndProgram()
```
