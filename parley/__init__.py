"""The public package of Parley for those who extend it: `parley.ext`."""
