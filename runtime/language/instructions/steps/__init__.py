"""Steps that set or change variables: read by a grammar on top of the one of conditions and values."""
