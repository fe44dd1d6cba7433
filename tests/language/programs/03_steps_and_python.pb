# Calculator

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for a number $n:int
- $root:float = SquareRoot($n)
- Tell the user that the root is $root
- End program

```python
import math


@playbook
async def SquareRoot(n: int) -> float:
    """The square root."""
    return math.sqrt(n)
```
