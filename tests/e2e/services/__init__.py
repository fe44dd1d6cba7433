"""Official clients of other programs at whole gateways."""
