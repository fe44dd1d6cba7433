"""The files of `parley new --plain` for the platforms of installed extensions."""

from __future__ import annotations

import inspect
import json
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from gateway.extensions.extension import ExtensionPlatform
from gateway.settings.sources import variable_name


def section_example(platform: ExtensionPlatform) -> str:
    """The platform's section of parley.toml, each key with its default behind a `#`."""
    lines = ["", f"[{platform.name}]"]
    lines += [f"# {line}".rstrip() for line in (inspect.getdoc(platform.settings) or "").splitlines()]
    for name, field in platform.settings.model_fields.items():
        if not _is_secret(field):
            lines.append(f"#{name} = {_as_toml(field.get_default(call_default_factory=True))}")
    return "\n".join(lines) + "\n"


def secrets_example(platform: ExtensionPlatform) -> str:
    """A place for each of the platform's secrets in .env.example."""
    names = [name for name, field in platform.settings.model_fields.items() if _is_secret(field)]
    return "".join(f"\n#{variable_name(f'{platform.name}.{name}')}=\n" for name in names)


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in get_args(field.annotation)


def _as_toml(value: Any) -> str:
    if value is None:
        return '""'
    return json.dumps(list(value) if isinstance(value, tuple) else value if _is_plain(value) else str(value))


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | list)
