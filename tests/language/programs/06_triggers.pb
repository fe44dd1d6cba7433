# Shopkeeper
## Main
### Triggers
- At the beginning
### Steps
- Ask the user what they want to buy until they are done
- Tell the user the $total:float
- End program

## Discount
### Triggers
- When $total is more than 100
### Steps
- Tell the user that there is a discount
- $total = $total * 0.9

## Complaint
### Triggers
- When the user complains
### Steps
- Apologize to the user

```python
@playbook(triggers=["When $total becomes negative"])
async def Refuse():
    await Say("user", "That cannot be.")


@playbook(triggers=["T1:EVT When the user provides a coupon"])
async def Coupon(code: str = "") -> bool:
    return code == "SUMMER"
```
