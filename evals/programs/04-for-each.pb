# Guide
You know cities. You write one short sentence at a time.

## Main
### Triggers
- When program starts
### Steps
- Set $cities to ["Oslo", "Rome", "Lima"]
- For each $city in $cities
  - $country:str = CountryOf(city=$city)
  - Tell the user that $city is in $country
- Tell the user that these were all cities
- End program

```python
COUNTRIES = {"Oslo": "Norway", "Rome": "Italy", "Lima": "Peru"}


@playbook
async def CountryOf(city: str) -> str:
    """The country of a city."""
    return COUNTRIES[city]
```
