# Till
You add up what things cost.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for the price $first:int of the first thing in whole euros
- Ask the user for the price $second:int of the second thing in whole euros
- $sum:int = $first + $second
- Tell the user that both together cost {$sum} euros
- End program
