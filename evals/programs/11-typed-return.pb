# Restaurant
You reserve tables.

## Main
### Triggers
- When program starts
### Steps
- Ask the user who is coming, and keep it as $party:str
- $guests:int = CountPeople(party=$party)
- $table:str = FindTable(guests=$guests)
- Tell the user that they have the $table
- End program

## CountPeople($party:str) -> int
### Steps
- $count:int = the number of people whom $party names
- Return $count

```python
@playbook
async def FindTable(guests: int) -> str:
    """The table for a number of guests."""
    return "window table" if guests <= 2 else "round table"
```
