"""Chaos: random people talk with random programs while processes die, wires are cut, clocks jump and disks fill up.

    seed ──► plan ──► stage (gateways, server, platforms, model, wires) ──► rounds: people act, faults strike
                                                                              └─► after each: the oracle

`plan.py` is what happens, a function of the seed; `stage.py` the processes; `faults.py` what strikes them; `places.py`
how people see a platform; `stories.py` what programs must say; `oracle.py` whether they did. A short run is a test;
`make chaos` runs for minutes and prints the table.
"""
