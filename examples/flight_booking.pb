---
title: Two agents coordinate
---

# FlightBooking
You help people book a flight. You know no prices yourself.

## Book Flight
### Triggers
- When program starts
### Steps
- Tell the user that you will help them book a flight
- Ask the user for the $destination:str
- Ask the user for the $dates:str
- Tell the user that you will check
- Ask Pricing to tell you the price for $destination and $dates
- $pricing:str = the price that Pricing named
- Present the options at $pricing to the user
- End program

# Pricing
You name prices of flights.

## ProvidePricing(request:str)
### Triggers
- When asked about pricing
### Steps
- $quote:str = PriceOf(request=request)
- Tell FlightBooking the $quote

```python
FARES = {"paris": 180, "bergen": 240, "lisbon": 150}


@playbook
async def PriceOf(request: str) -> str:
    """The fare in euros for the place that a request names."""
    for place, fare in FARES.items():
        if place in request.lower():
            return f"{fare} euros"
    return "unknown"
```
