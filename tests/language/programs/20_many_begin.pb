# Alpha
## First
### Triggers
- When program starts
### Steps
- Tell the user one
## Second
### Triggers
- When program starts
### Steps
- Tell the user two

# Beta
## Third
### Triggers
- When program starts
### Steps
- Tell the user three
- End program
