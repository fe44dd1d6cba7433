"""The building blocks of settings sections."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr

from runtime.core.errors import ConfigError, FileUnreadable
from runtime.language.remote import PARTICIPANT_NAME

MIN_SECRET_CHARS = 16


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


def begins_with(*beginnings: str, hint: str) -> AfterValidator:
    """A check of texts by how they begin."""

    def checked(text: str) -> str:
        if not text.startswith(beginnings):
            raise ValueError(hint)
        return text

    return AfterValidator(checked)


HttpUrl = Annotated[str, begins_with("http://", "https://", hint="must be a URL with http:// or https://")]
Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
OneOrMore = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
FilePath = Annotated[Path, BeforeValidator(_expanded)]


class SettingsSection(BaseModel):
    """A part of the tree. A component gets its own section and never the whole tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def text_of(key: str, path: Path) -> str:
    """The text of the file that a setting names. Raises FileUnreadable."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnreadable(key, path, error) from error


def check_readable(key: str, path: Path) -> None:
    """Raise FileUnreadable for a file that cannot be opened."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise FileUnreadable(key, path, error) from error


def secrets_of(key: str, files: Mapping[str, Path], whose: str, what: str = "token") -> dict[str, str]:
    """The secrets in files, by the names of whose they are; `{}` in the key stands for a name. Raises ConfigError for a
    name that will not do, a file that cannot be read, and a secret that can be guessed or is another's."""
    found: dict[str, str] = {}
    for name, path in files.items():
        if not PARTICIPANT_NAME.fullmatch(name):
            section = key.partition(".{}")[0]
            raise ConfigError(f'{section}: "{name}" cannot be the name of a {whose}; use small letters, digits, -.')
        secret = text_of(key.format(name), path)
        check_secret(key.format(name), secret, what)
        if secret in found.values():
            raise ConfigError(f"{key.format(name)}: another {whose} has this {what}; give each its own.")
        found[name] = secret
    return found


def check_secret(key: str, secret: str, what: str) -> None:
    """Raise ConfigError for one that can be guessed."""
    if len(secret) < MIN_SECRET_CHARS:
        raise ConfigError(
            f"{key}: the {what} has {len(secret)} characters, which can be guessed; {MIN_SECRET_CHARS} are the least, "
            "and `openssl rand -hex 32` makes a good one."
        )
