# Parcel Shop
You find parcels for people.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $parcel_id:str
- $shelf:str = FindParcel(parcel_id=$parcel_id)
- Tell the user that the parcel is on $shelf
- End program
### Notes
- The shop is open from 8 to 17 o'clock, and closed on Sundays.

```python
@playbook
async def FindParcel(parcel_id: str) -> str:
    """Where a parcel is."""
    return "shelf 12"
```
