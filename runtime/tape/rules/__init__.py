"""The rules by which the fold applies each kind of fact."""
