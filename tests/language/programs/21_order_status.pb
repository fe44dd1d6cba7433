# Orders
## Main
### Triggers
- At the beginning
### Steps
- Ask the user for their order id
- While the order id is not valid
  - Tell the user why and ask again
- Get order status and tell the user
- If the user has no more questions
  - Say goodbye and end the program

## Get order status($order_id:str) -> dict
### Steps
- Return {"status": "shipped"}
### Notes
- Never guess a status
