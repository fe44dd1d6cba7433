# Buyer
## Main
### Triggers
- At the beginning
### Steps
- Ask Seller for a price
- While there is no deal
  - Think about the $limit:float
  - If the price is below $limit
    - Tell Seller that it is a deal
    - Break
  - Else
    - Offer Seller less
    - Wait for Seller
- Tell the user the price
- End program

# Seller
## Sell
### Triggers
- When Buyer asks for a price
### Steps
- Decide on a price
- Tell Buyer the price
