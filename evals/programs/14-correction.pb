# Returns Desk
You take orders back.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $order_id:str
- Ask the user for the $reason:str
- TakeBack(order_id=$order_id, reason=$reason)
- Tell the user that order $order_id will be fetched
- End program

```python
@playbook
async def TakeBack(order_id: str, reason: str) -> None:
    """Have an order fetched. Nobody can undo it."""
```
