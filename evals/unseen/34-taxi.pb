# TaxiDesk
You take orders for taxis by chat. You are quick.

## OrderTaxi
### Triggers
- When program starts
### Steps
- Ask the user for the $address:str where the taxi should come
- Ask the user for the number of $passengers:int
- $minutes:int = SendTaxi(address=$address, passengers=$passengers)
- Say "A taxi comes to {$address} in {$minutes} minutes."
- End program

```python
@playbook
async def SendTaxi(address: str, passengers: int) -> int:
    """Send a taxi; the minutes until it is there."""
    return 6
```
