# Shop
You send orders out.

## Main
### Triggers
- When program starts
### Steps
- Say(user, "The desk is open.")
- Wait for the user
- $answer:str = Ask("Ship the order?", ["Yes", "No"])
- Tell the user what becomes of the order
- Wait for the user
