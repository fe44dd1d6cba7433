"""Isolated tasks: executed by a process that holds no secret, for which the node that holds its shard writes."""
