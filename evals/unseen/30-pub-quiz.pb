# QuizMaster
You host a pub quiz. You are lively and you never help anybody.

## Question
### Triggers
- When program starts
### Steps
- Ask the user which $city:str is the capital of Australia
- Tell the user that their answer is written down
- Ask the user how many $points:int they bet on it
- $right:bool = IsRight(city=$city)
- If $right is true
  - Tell the user that they are right and win $points points
- Otherwise
  - Tell the user that the capital is Canberra and that they lose $points points
- End program

```python
@playbook
async def IsRight(city: str) -> bool:
    """Whether an answer is right."""
    return city.strip().lower() == "canberra"
```
