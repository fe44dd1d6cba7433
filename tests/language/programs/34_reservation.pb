# Maitre
## Main
### Triggers
- At the beginning
### Steps
- Welcome the user and ask how you can help
- Ask the user for:
  - the $day:str
  - the $people:int
  - their $name:str
- $free:bool = IsFree(day=$day, people=$people)
- If $free
  - Book the table
  - Tell the user that the table is booked
- Otherwise, suggest another day to the user
- Thank the user and end program
### Notes
- At most 8 people at a table
- CHK only on weekdays

```python
@playbook
async def IsFree(day: str, people: int) -> bool:
    return people <= 8
```
