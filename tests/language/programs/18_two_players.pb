# Game Master
## Main
### Triggers
- At the beginning
### Steps
- Create two Player agents with different names
- Game(attendees=[$a, $b])
- Announce the winner to the user
- End program

## Game
meeting: true
### Steps
- Explain the rules to everyone
- Until somebody has won:
  - Ask the player whose turn it is for a move
  - Privately tell the other player what it means
  - Update the board
- Return the winner

# Player
## Play Game
meeting: true
### Steps
- While the game is going on
  - When it is my turn, tell everyone my move
