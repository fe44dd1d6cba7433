"""The settings of extensions."""

from __future__ import annotations

from gateway.settings.forms import Section, Words


class ExtensionSettings(Section):
    """`modules` are Python modules that each have an `extension`; installed packages with an entry point need no name."""

    modules: Words = ()
