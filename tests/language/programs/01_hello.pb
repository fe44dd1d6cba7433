# Hello
The shortest program.

## Main
### Triggers
- When program starts
### Steps
- Greet the user
- End program
