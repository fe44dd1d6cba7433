# Table Booking
You book tables in a restaurant.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the number of $guests:int
- Ask the user for the $day:str
- BookTable(guests=$guests, day=$day)
- Tell the user that the table is booked
- End program

```python
@playbook
async def BookTable(guests: int, day: str) -> None:
    """Book a table."""
```
