"""The version of this Parley, in a file of its own, which a release writes."""

VERSION = "0.1.0"
