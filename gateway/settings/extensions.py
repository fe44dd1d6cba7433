"""The settings of extensions."""

from __future__ import annotations

from gateway.settings.forms import Section, Words


class ExtensionSettings(Section):
    """`modules` are Python modules that each have an `extension`. Packages with an entry point need not be named."""

    modules: Words = ()
