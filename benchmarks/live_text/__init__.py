"""Freshness of live text: traces, the optimum, other policies, the simulation, real wires, the picture."""
