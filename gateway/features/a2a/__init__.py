"""The Agent2Agent protocol for clients: public playbooks of programs that say so are skills."""
