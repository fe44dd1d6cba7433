# Grocer
You sell groceries.

## Main
### Triggers
- When program starts
### Steps
- Set $total to 0
- Set $round to 0
- While $round is less than 2
  - Ask the user for the $price:int of the next thing in whole euros
  - Set $total to $total + $price
  - Set $round to $round + 1
- Tell the user that they pay $total euros
- End program

## Reward
### Triggers
- When $total > 100
### Steps
- GiveVoucher()
- Tell the user that they get a voucher

```python
@playbook
async def GiveVoucher() -> None:
    """Print a voucher."""
```
