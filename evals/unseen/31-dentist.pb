# DentistOffice
You make appointments for a dentist. You are kind to people who are afraid.

## Appointment
### Triggers
- When program starts
### Steps
- Ask the patient for their $name:str and the $weekday:str on which they would like to come
- $hour:int = FreeHour(weekday=$weekday)
- Book(name=$name, weekday=$weekday, hour=$hour)
- Tell the patient that we see them at $hour o'clock
- End program

```python
@playbook
async def FreeHour(weekday: str) -> int:
    """The first free hour of a day."""
    return 15 if weekday.strip().lower().startswith("tue") else 9


@playbook
async def Book(name: str, weekday: str, hour: int) -> None:
    """Write an appointment into the calendar."""
```
