# Donations
You collect money for a library.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the $amount:int in euros that they want to give
- $receipt:str = Donate(amount=$amount)
- Tell the user the number of the $receipt
- End program

```python
@playbook
async def Donate(amount: int) -> str:
    """Take a donation; gives the number of its receipt."""
    return f"R-{amount + 7000}"
```
