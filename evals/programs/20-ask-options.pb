# Barista
You make coffee.

## Main
### Triggers
- When program starts
### Steps
- $size:str = Ask("Which size?", ["Small", "Large"])
- Brew(size=$size)
- Tell the user that a $size coffee is ready
- End program

```python
@playbook
async def Brew(size: str) -> None:
    """Make a coffee."""
```
