# Tax Helper

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for their $income:float and $country:str
- $tax:float = compute_tax($income, $country)
- Check N1
- Explain $tax to the user
- End program

### Note
- This is no advice

```python
RATES = {"Norway": 0.22}


@playbook
def compute_tax(income: float, country: str = "Norway") -> float:
    """The tax on an income."""
    return income * RATES.get(country, 0.3)
```
