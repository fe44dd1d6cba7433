"""The sources of settings, as layers. Each knows its own spelling of a key, so that errors can name it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from gateway.settings.hidden_keys import DOTENV_VARIABLE
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice, name_advice

PREFIX = "PARLEY_"
CONFIG_VARIABLE = "PARLEY_CONFIG"
_NO_KEYS = (CONFIG_VARIABLE, DOTENV_VARIABLE)

FILE_TABLES = frozenset({"console.roles", "participants.tokens", "remote.secrets", "telegram.agents"})
"""Sections whose keys the user chooses, each with a file that holds a secret."""

RETIRED = {
    "tasks.isolation": "agents apart from secrets run on nodes of their own: docs/running/deploying.md.",
    "clients.*.model_tokens_per_day": "clients no longer ask models; let them order tasks: docs/connecting/bus.md.",
    "clients.*.model_usd_per_day": "clients no longer ask models; let them order tasks: docs/connecting/bus.md.",
}
"""Settings of earlier versions, with all below them, and what to do instead."""

_LIKE_A_SECRET = re.compile(
    r"\d{5,}:[\w-]{20,}|(?:xox[a-z]|xapp|sk)-[\w-]{8,}|[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}|[0-9a-f]{32,}"
)
"""Tokens of Telegram, Slack, model providers and Discord, and those that people generate."""


class Layer(Struct, frozen=True):
    """One place with settings: dotted keys to values as they are there. `spell` writes a dotted key in its style."""

    place: str
    values: Mapping[str, Any]
    spell: Callable[[str], str]

    def unknown(
        self, known: Iterable[str], *, tables: Collection[str] = (), named_tables: Collection[str] = ()
    ) -> Mapping[str, str]:
        """The keys that are not `known`, each with what is wrong and the nearest one that is.

        Below `tables` every key will do, and below `named_tables` every key of a table of any name.
        """
        spelled, found = {self.spell(key): key for key in known}, dict[str, str]()
        for key in self.values:
            gone = next((why for old, why in RETIRED.items() if fnmatchcase(f"{key}.", f"{old}.*")), None)
            if gone is not None:
                found[key] = f'{self.place}: there is no setting "{self.spell(key)}" any more; {gone}'
                continue
            above = key.rpartition(".")[0]
            if key in spelled.values() or above in tables or above.rpartition(".")[0] in named_tables:
                continue
            written = self.spell(key)
            advice = name_advice(written, spelled, "see config/parley.toml for every key.")
            found[key] = f'{self.place}: there is no setting "{written}"; {advice}'
        return found


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as a tree of dicts."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return tree


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees in one: `above` wins where both have a value."""
    both = {name: merged(below[name], one) for name, one in above.items() if _trees(below.get(name), one)}
    return {**below, **above, **both}


def _trees(*values: object) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The inverse of `nested`."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            values |= flat(value, f"{prefix}{name}.")
        else:
            values[prefix + name] = value
    return values


def variable_name(key: str) -> str:
    """The environment's spelling of a dotted key: `web.port` is PARLEY_WEB__PORT."""
    return PREFIX + key.replace(".", "__").upper()


def flag_layer(flags: Mapping[str, Any]) -> Layer:
    """The flags of the command line, by dotted key; None means that the flag was not given."""
    given = {key: value for key, value in flags.items() if value is not None}
    return Layer("command line", given, lambda key: "--" + key.rpartition(".")[2].replace("_", "-"))


def environment_layer(place: str, variables: Mapping[str, str]) -> Layer:
    """The PARLEY_ variables among `variables`; an empty one counts as unset."""
    values = {
        name.removeprefix(PREFIX).lower().replace("__", "."): value
        for name, value in variables.items()
        if name.startswith(PREFIX) and name not in _NO_KEYS and value != ""
    }
    return Layer(place, values, variable_name)


def toml_layer(path: Path | None) -> Layer:
    """A parley.toml; an empty text counts as unset. Raises ConfigError when it cannot be read."""
    if path is None:
        return Layer("parley.toml", {}, str)
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        advice = file_advice(path, (".toml",), f"Check --config or {CONFIG_VARIABLE}.")
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). {advice}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.") from error
    return Layer(str(path), {key: value for key, value in flat(tree).items() if value != ""}, str)


def refuse_secrets_for_files(layer: Layer) -> None:
    """Refuse a secret in the place of its file, since every error about that file would show it."""
    for key, value in layer.values.items():
        names_file = key.endswith("_file") or key.rpartition(".")[0] in FILE_TABLES
        if names_file and _LIKE_A_SECRET.fullmatch(str(value).strip()):
            raise ConfigError(
                f"{layer.place}: {layer.spell(key)} contains a secret; it must name a file with the secret."
            )


def config_path(config: Path | None, variables: Mapping[str, str], here: Path) -> Path | None:
    """The file with the settings: the one that is named, by the environment, else `parley.toml`, if there is one."""
    if config is not None:
        return config
    if named := variables.get(CONFIG_VARIABLE):
        return here / Path(named).expanduser()
    usual = here / "parley.toml"
    return usual if usual.is_file() else None


def default_data_dir(variables: Mapping[str, str]) -> Path:
    """The folder for state by the XDG base directory specification: $XDG_STATE_HOME, else ~/.local/state."""
    state_home = variables.get("XDG_STATE_HOME", "")
    # The specification says that a relative path there is to be ignored.
    return (Path(state_home) if Path(state_home).is_absolute() else Path.home() / ".local" / "state") / "parley"
