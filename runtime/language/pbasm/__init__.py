"""PBAsm, the compiled form of a program."""
