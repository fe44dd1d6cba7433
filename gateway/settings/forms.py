"""The building blocks of settings sections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _split(value: object) -> object:
    """A list from one text separated by commas, as the environment has it, or from a TOML list, whose ids may be
    numbers.
    """
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return tuple(str(item) for item in value) if isinstance(value, list) else value


def _one_or_more(value: object) -> object:
    if isinstance(value, list):
        return tuple(str(item) if isinstance(item, int) else item for item in value)
    return (str(value),) if isinstance(value, str | int) and not isinstance(value, bool) else value


def _expanded(value: object) -> object:
    return Path(value).expanduser().absolute() if isinstance(value, str | Path) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
OneOrMore = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
FilePath = Annotated[Path, BeforeValidator(_expanded)]


class SettingsSection(BaseModel):
    """A part of the tree. A component gets its own section and never the whole tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, regex_engine="python-re")
