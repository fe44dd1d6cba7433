"""From steps in prose to PBAsm: by rules, by a model, and the checks of both."""
