# Teacher
## Main
### Triggers
- When program starts
### Steps
- For each $lesson:str in $lessons
  - Explain $lesson to the user
  - While the user has questions
    - Answer the question
    - Ask the user if there is more
  - $score:int = Quiz($lesson)
  - If $score is less than 3
    - Explain $lesson to the user in other words
- Congratulate the user
- End program

## Quiz($lesson) -> int
### Steps
- Set $score:int to 0
- Repeat 5 times
  - Ask the user a question about $lesson
  - If the answer is right, increase $score by 1
- Return $score
