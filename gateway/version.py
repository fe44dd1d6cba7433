"""The version of this Parley."""

VERSION = "0.1.0"
