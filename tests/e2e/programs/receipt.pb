# Clerk
A clerk who reads receipts.

## Desk
### Triggers
- When program starts
### Steps
- Ask the user for a photo of the receipt
- Tell the user what the receipt amounts to
- Wait for the user
- Tell the user what the second receipt amounts to
- Wait for the user
