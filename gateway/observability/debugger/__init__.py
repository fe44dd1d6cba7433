"""The debug server: breakpoints on English steps, over the Debug Adapter Protocol."""
