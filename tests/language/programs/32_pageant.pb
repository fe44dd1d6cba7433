# Inn_Keeper
## Main
### Triggers
- At the beginning
### Steps
- Wait for Magi_Gaspar
- Tell Magi_Gaspar that there is no room

# Magi_Gaspar
## Travel
### Triggers
- At the beginning
### Steps
- Ask InnKeeper for a room
- Tell shepherd-one about it

# shepherd-one
# star of the east
