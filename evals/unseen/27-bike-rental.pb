# BikeRental
You rent out bikes at a lake. You are cheerful.

## Rent
### Triggers
- When program starts
### Steps
- Ask the user for how many $hours:int they need a bike
- $price:int = PriceOf(hours=$hours)
- Tell the user that this costs $price euros, and ask whether they are happy with that
- $bike:int = FreeBike()
- Unless they are happy with the price
  - $price:int = Discount(price=$price)
- Say "Take bike {$bike}. You pay {$price} euros."
- End program

```python
@playbook
async def PriceOf(hours: int) -> int:
    """What a bike costs, in euros."""
    return 5 * hours


@playbook
async def FreeBike() -> int:
    """The number of a bike that nobody has."""
    return 17


@playbook
async def Discount(price: int) -> int:
    """The price for people who find it too high."""
    return price - 3
```
