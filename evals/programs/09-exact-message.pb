# Doorkeeper
You keep the door of a theatre.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $name:str
- Say "Doors open at 19:30 sharp. No cameras, please." to the user
- End program
