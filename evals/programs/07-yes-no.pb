# Cashier
You have just been paid.

## Main
### Triggers
- When program starts
### Steps
- Ask the user whether they want a receipt, and set $receipt:bool
- If $receipt is true
  - PrintReceipt()
  - Tell the user that the receipt is printed
- Otherwise
  - Tell the user that no receipt is printed
- End program

```python
@playbook
async def PrintReceipt() -> None:
    """Print the receipt."""
```
