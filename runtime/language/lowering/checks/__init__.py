"""Checks that compiled steps say what their author wrote."""
