"""The table of models: what each name leads to, and what is said of a name that leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.models import ModelServer, check_name, sources_of
from gateway.settings.tree import Settings, changed, load
from runtime.core.errors import ConfigError


def loaded(folder: Path, toml: str, **environment: str) -> Settings:
    (folder / "parley.toml").write_text(toml)
    return load(environment=environment, directory=folder)


TABLE = """
[models]
default = "big"
fast = "groq/small"
big = "anthropic/claude-x"

[models.own]
model = "qwen"
base_url = "http://127.0.0.1:1/v1"
"""


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("default", "anthropic/claude-x"),
        ("big", "anthropic/claude-x"),
        ("fast", "groq/small"),
        ("own", "own"),
        ("summary", "anthropic/claude-x"),
    ],
)
def test_a_name_leads_to_its_model_and_a_purpose_without_one_to_the_default(
    name: str, source: str, tmp_path: Path
) -> None:
    settings = loaded(tmp_path, TABLE)
    assert sources_of(settings.models, name) == (source,)
    assert settings.models["own"] == ModelServer(model="qwen", base_url="http://127.0.0.1:1/v1")


def test_the_setting_model_is_the_default_where_the_table_has_none(tmp_path: Path) -> None:
    settings = loaded(tmp_path, 'model = "openai/x"\n[models]\nfast = "groq/small"\nslow = "default"')
    assert [sources_of(settings.models, name) for name in ("default", "compile", "slow")] == [("default",)] * 3


def test_the_environment_has_them_too(tmp_path: Path) -> None:
    variables = {"PARLEY_MODELS__FAST": "groq/other", "PARLEY_MODELS__OWN__BASE_URL": "http://127.0.0.1:2/v1"}
    models = loaded(tmp_path, TABLE, **variables).models
    assert models["fast"] == ("groq/other",)
    assert models["own"] == ModelServer(model="qwen", base_url="http://127.0.0.1:2/v1")
    assert changed(loaded(tmp_path, TABLE))["models"] == "4 tables"


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        (
            'fast = "gpt-x"',
            'models.fast: there is no model "gpt-x"; there are: default, fast, summary, compile. .*"openai/',
        ),
        ('fast = "a"\na = "b"\nb = "a"', "leads back to itself: "),
        ('speech = "openai/x"\nfast = "openai/x"', "models.fast: openai/x is for models.speech and writes no text"),
        (
            'speech = "openai/x"\ntranscription = "openai/x"',
            "models.speech: openai/x is for models.transcription already",
        ),
        ('speech = "openai/x"\nfast = "speech"', 'there is no model "speech"; there are: default, fast, summary'),
        ('embedding = ["openai/x", "openai/y"]', "models.embedding is one model, not 2"),
        ('embedding = "openai/x"\nfast = "openai/x"', "openai/x is for models.embedding and writes no text"),
        ("fast = 3", "models.fast must be a model's name, a list of names"),
        ('"Big One" = "openai/x"', "cannot be the name of a model"),
        ("[models.own]\nbase_url = 'http://x'", "models.own.model: Field required"),
        ("[models.own]\nmodel = 'x'\nbase_ulr = 'http://x'", 'there is no key "base_ulr"; did you mean "base_url"?'),
        ("[models.own]\nmodel = 'x'\napi_key_file = '/nowhere/key'", "models.own.api_key_file: /nowhere/key cannot be"),
    ],
)
def test_what_is_no_model_is_refused_and_what_there_is_is_listed(toml: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        loaded(tmp_path, f"[models]\n{toml}")


def test_how_a_models_thoughts_begin_and_end_is_a_pair_with_an_end(tmp_path: Path) -> None:
    models = loaded(tmp_path, TABLE + 'thought_marks = ["", "</mull>"]\n').models
    assert models["own"] == ModelServer(model="qwen", base_url="http://127.0.0.1:1/v1", thought_marks=("", "</mull>"))
    for wrong in ('["<mull>", ""]', '["<mull>"]', '"<mull>"'):
        with pytest.raises(ConfigError, match=r"models\.own\.thought_marks"):
            loaded(tmp_path, TABLE + f"thought_marks = {wrong}\n")


def test_a_key_in_the_table_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'there is no key "api_key"; did you mean "api_key_file"') as refused:
        loaded(tmp_path, "[models.own]\nmodel = 'x'\napi_key = 'very-secret'")
    assert "very-secret" not in str(refused.value)


def test_a_default_that_is_set_twice_is_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"keep models\.default.*\[models\.main\] with model, base_url"):
        loaded(tmp_path, 'model = "openai/x"\n[models]\ndefault = "openai/y"')


def test_a_name_in_a_program_is_checked_and_what_there_is_is_listed(tmp_path: Path) -> None:
    models = loaded(tmp_path, TABLE).models
    for known in ("own", "compile", "default"):
        check_name(models, known, "Main")
    with pytest.raises(
        ConfigError, match=r'Main: there is no model "GPT 4"; there are: default, .*, big, own.*gpt-4 = "'
    ):
        check_name(models, "GPT 4", "Main")
