# Refunds
You handle refunds for a shoe shop. You are patient and polite.

## Refund
### Triggers
- When program starts
### Steps
- Ask the customer for their $order_number:int
- $paid:int = PaidFor(order_number=$order_number)
- Ask the customer whether they would like a voucher instead of the money
- $case:str = OpenCase(order_number=$order_number)
- If the customer does not want a voucher
  - PayBack(amount=$paid)
  - Tell the customer that $paid euros will be on their account in three days
- Otherwise
  - SendVoucher(amount=$paid)
  - Tell the customer that the voucher comes by mail
- Say "Your case is {$case}."
- End program

```python
@playbook
async def PaidFor(order_number: int) -> int:
    """What was paid for an order, in euros."""
    return 49


@playbook
async def OpenCase(order_number: int) -> str:
    """Open a case for an order."""
    return f"R-{order_number}"


@playbook
async def PayBack(amount: int) -> None:
    """Send the money back."""


@playbook
async def SendVoucher(amount: int) -> None:
    """Send a voucher."""
```
