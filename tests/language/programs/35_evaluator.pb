# Simulator
## Main
### Triggers
- At the beginning
### Steps
- For each $case in $cases
  - Play the customer of $case
  - Ask Assistant the question of the case
  - Wait for Assistant
  - $score:int = Evaluator.Rate(answer=$answer)
  - Store $score
- Show the table of scores to the user
- End program

# Assistant
Answers questions.

# Evaluator
## Rate($answer) -> int
public: true
execution_mode: raw
Rate this answer from 1 to 5: {$answer}
