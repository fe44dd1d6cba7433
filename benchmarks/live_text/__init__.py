"""Parts of the freshness benchmark: traces, the optimum, other policies, the simulation, real wires, the picture."""
