"""The whole gateway with real parts."""
