"""Every sentence that people see in a chat and no program says, by key, in the language of the settings.

English stands in `en.toml` beside this module and is complete; a translation has the same keys, or some of them:
what it lacks is said in English. A text may have placeholders, `{name}`, which the code that says it fills in. Commands
stand in it as `/new`; where people write them in another way, `Texts.marked` gives the texts with that.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter

from runtime.core.errors import ConfigError
from runtime.core.markup import MarkdownPart, as_written

LANGUAGE = "en"
"""The language that comes with Parley."""
SLASH = "/"
"""The default prefix of a command."""

_ENGLISH = Path(__file__).with_name("en.toml")
_LANGUAGE_FORM = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


class Texts:
    """The texts of one language. Calling it with a key and the values of its placeholders gives the sentence."""

    def __init__(self, language: str, texts: Mapping[str, str], mark: str = SLASH) -> None:
        self.language = language
        self.mark = mark
        self._texts = texts

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence, as Markdown in which the values stand as they are written, but for those that are Markdown.
        Raises KeyError for a key or a placeholder that is not there: a fault of ours.
        """
        return self._texts[key].format_map({name: _within(value) for name, value in values.items()})

    def marked(self, mark: str) -> Texts:
        """The texts with `mark` in the place of a slash before commands."""
        if mark == SLASH:
            return self
        command = re.compile(rf"(?<![\w/]){SLASH}(?=\{{command\}}|(?:{'|'.join(self._commands())})\b)")
        texts = {key: command.sub(mark, text) for key, text in self._texts.items()}
        return Texts(self.language, texts, mark)

    def _commands(self) -> Iterator[str]:
        found = (re.fullmatch(r"commands\.(\w+)\.what", key) for key in self)
        return (re.escape(one[1]) for one in found if one is not None)

    def __contains__(self, key: object) -> bool:
        return key in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def _within(value: object) -> object:
    return value if isinstance(value, MarkdownPart | int) else as_written(str(value))


@cache
def english() -> Texts:
    return Texts(LANGUAGE, _read(_ENGLISH))


def load_texts(language: str, directory: Path | None = None) -> Texts:
    """The texts of `language`: of `directory`/<language>.toml, over those that come with Parley.

    Raises ConfigError for a language that is not there, and for a file that has keys or placeholders of its own.
    """
    own = None if directory is None else directory / f"{language}.toml"
    if not _LANGUAGE_FORM.fullmatch(language):
        raise ConfigError(f'language is "{language}"; it must be a language tag such as "en", "de" or "pt-BR".')
    if own is not None and own.is_file():
        translated = _read(own)
        _compare(own, translated)
        return Texts(language, {key: translated.get(key, english()._texts[key]) for key in english()})
    if language == LANGUAGE:
        return english()
    where = f"there is no {own}" if own is not None else "texts_dir is not set"
    raise ConfigError(f'language is "{language}", but {where}; write {language}.toml after {_ENGLISH}.')


def other_texts(known: Texts, directory: Path | None) -> list[Texts]:
    """The texts of every further language that has a file in `directory`, by language. Raises as `load_texts`."""
    files = () if directory is None else directory.glob("*.toml")
    languages = (path.stem for path in files if _LANGUAGE_FORM.fullmatch(path.stem))
    return [load_texts(language, directory) for language in sorted(languages) if language != known.language]


def _compare(path: Path, translated: Mapping[str, str]) -> None:
    for key, text in translated.items():
        if key not in english():
            near = difflib.get_close_matches(key, list(english()), n=1)
            advice = f'did you mean "{near[0]}"?' if near else f"see {_ENGLISH} for every key."
            raise ConfigError(f'{path}: there is no text "{key}"; {advice}')
        known = placeholders(english()._texts[key])
        if unknown := placeholders(text) - known:
            named = ", ".join(f"{{{name}}}" for name in sorted(known)) or "none"
            raise ConfigError(f'{path}: "{key}" has the placeholder {{{min(unknown)}}}; there are: {named}.')


def placeholders(text: str) -> frozenset[str]:
    """The names in braces. Raises ValueError when the braces are wrong, or hold anything but a name."""
    names = set()
    for _, name, form, conversion in Formatter().parse(text):
        if name is None:
            continue
        if not name.isidentifier() or form or conversion:
            raise ValueError(f'"{{{name}}}" is not a name in braces')
        names.add(name)
    return frozenset(names)


def _read(path: Path) -> dict[str, str]:
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML ({error}); check the file.") from error
    texts: dict[str, str] = {}
    for key, text in _flat(tree):
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(f'{path}: "{key}" must be a text that is not empty.')
        try:
            placeholders(text)
        except ValueError as error:
            raise ConfigError(f'{path}: "{key}": {error}; a brace itself is written twice.') from error
        texts[key] = text
    return texts


def _flat(tree: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
