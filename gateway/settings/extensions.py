"""The settings of extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.settings.forms import Section, Words

Sections = Callable[[tuple[str, ...]], Mapping[str, type[Section]]]
"""The sections of the settings that extensions add, by name, given the modules that the settings name."""


class ExtensionSettings(Section):
    """`modules` are Python modules that each have an `extension`. Packages with an entry point need not be named."""

    modules: Words = ()
