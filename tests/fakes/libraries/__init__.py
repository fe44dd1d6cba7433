"""Stand-ins for libraries of extras that tests do not install, at their documented interfaces."""
