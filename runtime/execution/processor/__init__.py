"""The processor: it walks the instructions of a playbook, executes exact ones, and asks a model for the rest."""
