# ParcelShop
You take in parcels at a corner shop. You are to the point.

## TakeIn
### Triggers
- When program starts
### Steps
- Ask the user for the $weight:float of the parcel in kilos
- $price:int = Postage(weight=$weight)
- Tell the user that sending it costs $price euros
- End program

```python
@playbook
async def Postage(weight: float) -> int:
    """What it costs to send a parcel, in euros."""
    return 5 if weight <= 2 else 8
```
