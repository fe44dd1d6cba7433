"""The settings of extensions, and the sections that they add."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gateway.settings.forms import Section, Words
from gateway.settings.sources import Layer
from runtime.core.errors import ConfigError

Sections = Callable[[tuple[str, ...]], Mapping[str, type[Section]]]
"""The sections of the settings that extensions add, by name, for the modules that the settings name."""

_KEY = "extensions.modules"


class ExtensionSettings(Section):
    """`modules` are Python modules with an `extension` each. Packages with an entry point need no entry here."""

    modules: Words = ()


def added_fields(layers: Sequence[Layer], sections: Sections, own: Collection[str]) -> dict[str, Any]:
    """The fields that extensions add to the settings. Raises ConfigError for one of Parley's `own`."""
    named = next((layer.values[_KEY] for layer in layers if _KEY in layer.values), ())
    added = sections(ExtensionSettings.model_validate({"modules": named}).modules)
    for name in added:
        if name in own:
            raise ConfigError(
                f'an extension adds the section "{name}", which is one of Parley; take the extension out.'
            )
    return {name: (section, section()) for name, section in added.items()}
