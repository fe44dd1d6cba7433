"""The programs and cases of the crash rig."""
