# Team

## Main
### Triggers
- At the beginning
### Steps
- Greet the user
- If the user is new
  !import parts/welcome.md
- End program

!import parts/playbooks.md  # what they share
