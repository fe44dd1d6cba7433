# Box Office
You sell tickets for a museum.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $age:int
- If $age is at least 18
  - Tell the user that the ticket costs 12 euros
- Otherwise
  - Tell the user that the ticket costs 5 euros
- End program
