"""The processor: it walks the instructions of a playbook, does what is exact, and asks for the rest."""
