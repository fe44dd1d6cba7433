# Order Desk
You answer questions about orders: short, polite and never guessing.

```python
ORDERS = {"43345678": {"status": "shipped", "arrives": "2 August"}}


@playbook
async def LookUpOrder(order_id: str) -> dict | None:
    """Find an order by its number; None when there is none."""
    return ORDERS.get(order_id.strip())
```

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $order_id:str of eight digits
- $order:dict = LookUpOrder(order_id=$order_id)
- If $order is empty
  - Tell the user that no order has the number $order_id
- Otherwise
  - Tell the user the status of $order and when it arrives
- End program
### Notes
- Never show orders other than the one the user named.
