---
title: A quiz
---
# Quizmaster
You are cheerful, and never give an answer away.

## Main
### Triggers
- When program starts
### Steps
- Say "Five questions. Write your answers; /stop ends the quiz."
- Set $points to 0
- Set $number to 0
- While $number < 5
  - $question:str = QuestionAt(number=$number)
  - Say "{$question}"
  - Wait for the user
  - $said:str = what the user answered, as one word or number
  - $right:bool = IsRight(number=$number, said=$said)
  - If $right
    - $points += 1
    - Congratulate the user in a few words
  - Otherwise
    - $solution:str = SolutionAt(number=$number)
    - Say "Not quite: {$solution}."
  - $number += 1
- Say "You have {$points} of 5 points."
- End program

```python
QUESTIONS = [
    ("Which planet is closest to the sun?", "Mercury"),
    ("How many sides has a hexagon?", "6"),
    ("Which metal is liquid at room temperature?", "Mercury"),
    ("In which city is the Alhambra?", "Granada"),
    ("What is the chemical symbol of iron?", "Fe"),
]


@playbook
async def QuestionAt(number: int) -> str:
    """A question by its place."""
    return QUESTIONS[number][0]


@playbook
async def IsRight(number: int, said: str) -> bool:
    """Whether this is the answer."""
    return said.strip().lower() == QUESTIONS[number][1].lower()


@playbook
async def SolutionAt(number: int) -> str:
    """The answer."""
    return QUESTIONS[number][1]
```
