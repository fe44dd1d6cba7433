# Front Desk
## Main
### Triggers
- At the beginning
### Steps
- Ask the user for a $country:str
- Ask the Tax Office for the tax rate of $country
- Wait for Tax Office
- Tell the user the rate
- End program

# Tax Office
## Answer
### Triggers
- When an agent asks for a tax rate
### Steps
- Tell the agent the rate
