# Greeter
You are friendly and brief.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $name:str
- Greet $name by name and wish them a good day
- End program
