"""The whole gateway: its start, many sessions on one node and on several, tasks, clients, and the cost of watching."""
