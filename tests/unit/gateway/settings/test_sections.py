"""Sections of the settings: clients, models, platforms, agents and participants."""

from pathlib import Path
from typing import Any

import pytest

from gateway.clients.scopes import ClientScopes
from gateway.settings.models import ModelServer, check_name, sources_of
from gateway.settings.operation import ConsoleSettings, client_scopes, client_tokens, publisher_scopes
from gateway.settings.platforms import TelegramSettings
from gateway.settings.tree import Settings, changed, load, process_environment, remote_variables, secrets
from runtime.core.errors import ConfigError
from runtime.language.program import AgentKind, AgentSpec, Program
from tests.unit.runtime.sessions.programs import SPAN, agent

TOKEN = "a-token-of-the-tests"


def config(folder: Path, text: str) -> Path:
    (folder / "ci").write_text(f"{TOKEN}\n")
    file = folder / "parley.toml"
    file.write_text(text.replace("FOLDER", str(folder)))
    return file


def test_clients_are_tables_by_their_names(tmp_path: Path) -> None:
    text = """
        [clients.ci]
        token_file = "FOLDER/ci"
        scopes = ["events:read:agent.*", "tasks:write:review", "content"]
    """
    settings = load(config=config(tmp_path, text), environment={}, directory=tmp_path)
    assert client_scopes(settings.clients) == {
        "ci": ClientScopes(events_read=("agent.*",), tasks_write=("review",), content=True)
    }
    assert client_tokens(settings.clients) == {"ci": TOKEN}
    assert TOKEN in secrets(settings)
    assert changed(settings)["clients"] == "1 table"


def test_the_environment_has_them_too(tmp_path: Path) -> None:
    config(tmp_path, "")
    environment = {
        "PARLEY_CLIENTS__CI__TOKEN_FILE": str(tmp_path / "ci"),
        "PARLEY_CLIENTS__CI__SCOPES": "events:read:>,events:write:build.done",
    }
    settings = load(environment=environment, directory=tmp_path)
    assert client_scopes(settings.clients) == {"ci": ClientScopes((">",), ("build.done",))}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["events:read:"]', 'there is no scope "events:read:"'),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["events:read:a..b"]', "is not a pattern of events"),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nscopes = ["models:x"]', 'there is no scope "models:x"'),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\nmodel_usd_per_day = -1', "model_usd_per_day"),
        ("[clients.ci]\nscopes = []", "clients.ci.token_file"),
        ('[clients.ci]\ntoken_file = "FOLDER/ci"\ncolour = "red"', "clients.ci.colour"),
    ],
)
def test_what_is_no_client_is_refused(tmp_path: Path, table: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("[", r"\[")):
        load(config=config(tmp_path, table), environment={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ('[clients."C I"]\ntoken_file = "FOLDER/ci"', "cannot be the name of a client"),
        ('[clients.ci]\ntoken_file = "FOLDER/none"', "cannot be read"),
        ('[clients.ci]\ntoken_file = "FOLDER/short"', "which can be guessed"),
        (
            '[clients.a]\ntoken_file = "FOLDER/ci"\n[clients.b]\ntoken_file = "FOLDER/ci"',
            "another client has this token",
        ),
    ],
)
def test_a_token_that_will_not_do_is_refused(tmp_path: Path, tables: str, says: str) -> None:
    (tmp_path / "short").write_text("short")
    settings = load(config=config(tmp_path, tables), environment={}, directory=tmp_path)
    with pytest.raises(ConfigError, match=says):
        client_tokens(settings.clients)


def test_a_token_in_the_place_of_its_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    token = "0123456789abcdef0123456789abcdef"
    with pytest.raises(ConfigError, match="must name a file with the secret") as refused:
        load(config=config(tmp_path, f'[clients.ci]\ntoken_file = "{token}"'), environment={}, directory=tmp_path)
    assert token not in str(refused.value)


@pytest.mark.parametrize("standard", ["mcp", "a2a"])
def test_a_standard_without_clients_is_refused_with_what_to_write(tmp_path: Path, standard: str) -> None:
    with pytest.raises(ConfigError, match=rf"{standard}\.on is true without clients.*docs/connecting/{standard}\.md"):
        load(config=config(tmp_path, f"[{standard}]\non = true"), environment={}, directory=tmp_path)


def test_a_program_may_publish_what_its_table_says(tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text('[publishers.shop]\ntypes = ["orders.>"]\nbegins = ["restock"]\n')
    settings = load(config=file, environment={}, directory=tmp_path)
    scopes = publisher_scopes(settings.publishers)
    assert scopes == {"shop": ClientScopes(events_write=("orders.>",), triggers=("restock",))}


@pytest.mark.parametrize("table", ['types = ["orders..x"]', 'scopes = ["events:write:>"]'])
def test_what_is_no_pattern_or_no_key_is_an_error(table: str, tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text(f"[publishers.shop]\n{table}\n")
    with pytest.raises(ConfigError, match="publishers"):
        load(config=file, environment={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("given", "has"),
    [({}, False), ({"password": "x" * 16}, True), ({"roles": {"operator": "operator.txt"}}, True)],
)
def test_a_link_without_a_password_is_for_consoles_of_which_no_role_has_one(given: dict[str, Any], has: bool) -> None:
    assert ConsoleSettings.model_validate(given).has_passwords is has


def _loaded_from(directory: Path, toml: str = "") -> Settings:
    (directory / "parley.toml").write_text(toml)
    return load(environment={}, directory=directory)


def test_a_name_is_looked_up_in_its_file_then_in_the_environment_then_in_dotenv(tmp_path: Path) -> None:
    (tmp_path / "weather").write_text("from-file\n")
    (tmp_path / ".env").write_text("STARS=from-dotenv\nTIDES=from-dotenv\n")
    settings = _loaded_from(tmp_path, f'[remote.secrets]\nWEATHER = "{tmp_path / "weather"}"\n')
    environment = {"WEATHER": "from-environment", "STARS": "from-environment"}
    found = remote_variables(settings, ["WEATHER", "STARS", "TIDES", "MISSING"], environment, tmp_path)
    assert found == {"WEATHER": "from-file", "STARS": "from-environment", "TIDES": "from-dotenv"}


@pytest.mark.parametrize("name", ["PARLEY_TELEGRAM__TOKEN", "parley_web__password"])
def test_what_is_the_gateways_own_is_given_to_nobody(name: str, tmp_path: Path) -> None:
    assert remote_variables(_loaded_from(tmp_path), [name], {name: "secret"}, tmp_path) == {}


def test_a_file_that_cannot_be_read_is_named_and_what_to_do(tmp_path: Path) -> None:
    settings = _loaded_from(tmp_path, '[remote.secrets]\nWEATHER = "/nowhere/weather"\n')
    with pytest.raises(ConfigError, match=r"remote\.secrets\.WEATHER: /nowhere/weather cannot be read .*; check"):
        remote_variables(settings, ["WEATHER"], {}, tmp_path)


def test_a_secret_in_the_place_of_its_file_is_refused_and_not_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains a secret; it must name a file") as raised:
        _loaded_from(tmp_path, '[remote.secrets]\nWEATHER = "sk-12345678abcdef"\n')
    assert "sk-12345678abcdef" not in str(raised.value)


def test_a_process_sees_where_things_are_and_nothing_secret() -> None:
    environment = {"PATH": "/bin", "HOME": "/home/ada", "AWS_SECRET_ACCESS_KEY": "x", "PARLEY_MODEL_API_KEY": "y"}
    assert process_environment(environment) == {"PATH": "/bin", "HOME": "/home/ada"}


def test_commands_are_any_unless_the_settings_name_them(tmp_path: Path) -> None:
    assert _loaded_from(tmp_path).remote.commands == ("*",)
    assert _loaded_from(tmp_path, '[remote]\ncommands = ["uvx", "python"]\n').remote.commands == ("uvx", "python")
    assert _loaded_from(tmp_path, "[remote]\ncommands = []\n").remote.commands == ()


def test_rules_of_tools_come_from_the_file_and_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text('[tools]\nwithin_s = 5\nask = ["Shop.order"]\n')
    rules = load(environment={"PARLEY_TOOLS__DENY": "Shop.*, Bank.*"}, directory=tmp_path).tools.as_rules
    assert (rules.allow, rules.ask, rules.deny, rules.within_s) == ((), ("Shop.order",), ("Shop.*", "Bank.*"), 5)


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


def test_the_environment_has_models_too(tmp_path: Path) -> None:
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


def _loaded(directory: Path, toml: str, **environment: str) -> TelegramSettings:
    file = directory / "parley.toml"
    file.write_text(toml)
    return load(config=file, environment=environment, directory=directory).telegram


@pytest.mark.parametrize(
    "url",
    [
        "https://chat.example.org/hooks/telegram",
        "https://chat.example.org/below/hooks/telegram/p4rt/",
        "http://[::1]:8/hooks/telegram",
    ],
)
def test_webhook_leads_to_our_hooks(tmp_path: Path, url: str) -> None:
    assert _loaded(tmp_path, "", PARLEY_TELEGRAM__WEBHOOK_URL=url).webhook_url == url


@pytest.mark.parametrize(
    "url",
    [
        "chat.example.org/hooks/telegram",
        "https://chat.example.org/telegram",
        "https://chat.example.org/hooks/telegrams",
    ],
)
def test_webhook_that_leads_elsewhere_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"hooks/telegram"):
        _loaded(tmp_path, "", PARLEY_TELEGRAM__WEBHOOK_URL=url)


def test_agents_have_the_tokens_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "host").write_text("777:host-token\n")
    own = _loaded(tmp_path, f'[telegram.agents]\nHost = "{tmp_path / "host"}"')
    assert own.agent_tokens() == {"Host": "777:host-token"}
    assert "777:host-token" in secrets(Settings(telegram=own))


@pytest.mark.parametrize("content", [None, "", "no token"])
def test_file_without_a_token_is_named_and_its_content_is_not(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "host").write_text(content)
    own = _loaded(tmp_path, f'[telegram.agents]\nHost = "{tmp_path / "host"}"')
    with pytest.raises(ConfigError, match=r"telegram\.agents\.Host: .*host (cannot be read|has no)") as caught:
        own.agent_tokens()
    assert "no token" not in str(caught.value).replace("no bot's token", "")


PARTICIPANTS_TOKEN = "a-token-that-is-long-enough"


def _load(folder: Path, **tokens: str) -> Settings:
    lines = ["[participants.tokens]"]
    for name, token in tokens.items():
        (folder / name).write_text(token + "\n")
        lines.append(f'{name} = "{folder / name}"')
    (folder / "parley.toml").write_text("\n".join(lines))
    return load(environment={}, directory=folder)


def _program(**metadata: str) -> Program:
    scout = AgentSpec("Scout", AgentKind.REMOTE, SPAN, metadata=metadata)
    return Program("hike", (agent("Lead"), scout), "", "1")


def test_nobody_is_known_unless_the_settings_name_them(tmp_path: Path) -> None:
    assert load(environment={}, directory=tmp_path).participants.known() == {}


def test_tokens_are_in_files_and_are_secrets(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=PARTICIPANTS_TOKEN)
    assert settings.participants.known() == {"scout": PARTICIPANTS_TOKEN}
    assert PARTICIPANTS_TOKEN in secrets(settings)


def test_a_token_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"participants\.tokens\.scout: the token has 6 characters"):
        _load(tmp_path, scout="sesame").participants.known()


def test_two_with_one_token_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="another participant has this token"):
        _load(tmp_path, scout=PARTICIPANTS_TOKEN, guide=PARTICIPANTS_TOKEN).participants.known()


def test_a_name_that_no_program_can_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='"Scout" cannot be the name'):
        _load(tmp_path, Scout=PARTICIPANTS_TOKEN).participants.known()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=PARTICIPANTS_TOKEN)
    (tmp_path / "scout").unlink()
    with pytest.raises(ConfigError, match=r"participants\.tokens\.scout: .* cannot be read"):
        settings.participants.known()


def test_a_program_whose_agent_nobody_can_play_is_refused(tmp_path: Path) -> None:
    settings = _load(tmp_path, scout=PARTICIPANTS_TOKEN)
    settings.participants.check([_program()])
    with pytest.raises(ConfigError, match="hike: Scout is played in another process by guide, who has no token"):
        settings.participants.check([_program(participant="guide")])
