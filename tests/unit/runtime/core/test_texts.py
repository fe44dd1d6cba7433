"""What Parley says, and in which language."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.core.errors import ConfigError
from runtime.core.texts import english, load_texts, other_texts, placeholders


def _german(directory: Path, toml: str) -> Path:
    (directory / "de.toml").write_text(toml, encoding="utf-8")
    return directory


def test_english_comes_with_it() -> None:
    texts = load_texts("en")
    assert texts("commands.unknown", command="x") == "I do not know the command /x. /help lists what you can do here."
    assert texts.language == "en"


def test_a_translation_says_what_it_has_and_english_the_rest(tmp_path: Path) -> None:
    texts = load_texts("de", _german(tmp_path, '[access]\nblocked = "Leider darf ich nicht mit dir reden."'))
    assert texts("access.blocked") == "Leider darf ich nicht mit dir reden."
    assert texts("access.paired") == english()("access.paired")
    assert list(texts) == list(english())


def test_english_itself_may_be_worded_anew(tmp_path: Path) -> None:
    (tmp_path / "en.toml").write_text('[access]\npaired = "Hi!"')
    assert load_texts("en", tmp_path)("access.paired") == "Hi!"


@pytest.mark.parametrize(
    ("toml", "error"),
    [
        ('[acces]\nblocked = "x"', r'de\.toml: there is no text "acces\.blocked"; did you mean "access\.blocked"'),
        (
            '[commands]\nunknown = "{befehl}?"',
            r'"commands\.unknown" has the placeholder \{befehl\}; there are: \{command\}',
        ),
        ('[access]\nblocked = "{name}"', r"there are: none"),
        *(
            (f'[{group}]\n{name} = "(Agent {{number}})"', rf'"{group}\.{name}" has the placeholder \{{number\}}')
            for group, names in {
                "session": ("status_agent", "who_agent"),
                "agents": ("line",),
                "meeting": ("agent", "host"),
            }.items()
            for name in names
        ),
        ('[access]\nblocked = "{"', r'"access\.blocked": .* a brace itself is written twice'),
        ('[access]\nblocked = "{0.__class__}"', "not a name in braces"),
        ('[access]\nblocked = ""', r'"access\.blocked" must be a text'),
        ("[access]\nblocked = 3", r'"access\.blocked" must be a text'),
        ("[access", "cannot be read as TOML"),
    ],
)
def test_a_wrong_translation_is_refused_at_start(tmp_path: Path, toml: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        load_texts("de", _german(tmp_path, toml))


def test_further_languages_are_those_with_a_file_but_the_one_that_is_spoken(tmp_path: Path) -> None:
    for name in ("de", "fr", "pt-BR", "parley", "read me"):
        (tmp_path / f"{name}.toml").write_text('[access]\nblocked = "x"')
    others = other_texts(load_texts("fr", tmp_path), tmp_path)
    assert [texts.language for texts in others] == ["de", "pt-BR"]
    assert [texts("access.blocked") for texts in others] == ["x", "x"]
    assert other_texts(english(), None) == []


def test_a_language_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="texts_dir is not set"):
        load_texts("de")
    with pytest.raises(ConfigError, match=r"there is no .*fr\.toml"):
        load_texts("fr", tmp_path)
    with pytest.raises(ConfigError, match="must be a language tag"):
        load_texts("../en", tmp_path)


def test_placeholders_are_names() -> None:
    assert placeholders("{a} and {{b}} and {c}") == {"a", "c"}


def test_texts_name_commands_by_the_mark_that_people_write_before_them() -> None:
    texts = english().marked("!")
    assert texts("session.finished", agent="A/help desk") == "A/help desk has finished. !new starts a new conversation."
    assert texts("commands.unknown", command="x") == "I do not know the command !x. !help lists what you can do here."
    assert [key for key in texts if "/new" in texts._texts[key] or "/help" in texts._texts[key]] == []
    assert texts("access.usage").startswith("!access list, approve CODE")
