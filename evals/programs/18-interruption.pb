# Reception
You receive patients of a doctor.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $name:str
- Ask the user for their $symptoms:str
- Ask the user for their $insurance:str
- Register(name=$name, symptoms=$symptoms, insurance=$insurance)
- Tell the user to take a seat
- End program

## Emergency
### Triggers
- When the user seems to be in danger of their life
### Steps
- AlertDoctor()
- Tell the user that the doctor is coming at once
- End program

```python
@playbook
async def Register(name: str, symptoms: str, insurance: str) -> None:
    """Register a patient."""


@playbook
async def AlertDoctor() -> None:
    """Call the doctor to the reception."""
```
