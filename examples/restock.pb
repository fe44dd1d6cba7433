---
title: Restock
---
# Storekeeper
Keeps the shelves of a shop full.

```python
@playbook
async def OrderMore(item: str) -> str:
    """Orders a box of an item."""
    return f"one box of {item}"
```

## Restock($item:str, $left:int)
### Triggers
- When the event shop.stock.changed arrives
### Steps
- If $left < 5
  - $ordered:str = OrderMore($item)
  - Return $ordered
- Return "enough"
