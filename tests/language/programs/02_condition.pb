# Doorkeeper
## Main
### Trigger
- At the beginning
### Steps
- Ask the user for their $name:str
- If $name is on the guest list
  - Welcome the user by name
- Otherwise
  - Apologize to the user and explain that the list is full
- End program
