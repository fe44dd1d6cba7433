"""Settings: sources, precedence, and errors that say what to do."""

import errno
from pathlib import Path

import pytest
from pydantic import SecretStr

from gateway.settings.tree import Settings, changed, environment_keys, load, model_environment, secrets
from runtime.core.errors import ConfigError


def _load(directory: Path, toml: str = "", dotenv: str = "", **variables: str) -> Settings:
    (directory / "parley.toml").write_text(toml)
    (directory / ".env").write_text(dotenv)
    return load(environment=variables, directory=directory)


def test_every_public_name_is_read_from_the_environment(tmp_path: Path) -> None:
    found = _load(
        tmp_path,
        PARLEY_MODEL="openai/small",
        PARLEY_MODEL_BASE_URL="http://127.0.0.1:9/v1",
        PARLEY_MODEL_API_KEY="sk-1",
        PARLEY_REDIS_URL="redis://127.0.0.1:6379/3",
        PARLEY_DATA_DIR=str(tmp_path / "data"),
        PARLEY_WEB__PORT="0",
        PARLEY_TELEGRAM__TOKEN="1:AA",
        PARLEY_TELEGRAM__BASE_URL="http://127.0.0.1:8/bot",
        PARLEY_TELEGRAM__ACCESS="open",
    )
    assert found.model == "openai/small"
    assert found.model_base_url == "http://127.0.0.1:9/v1"
    assert found.model_api_key == SecretStr("sk-1")
    assert found.redis_url == "redis://127.0.0.1:6379/3"
    assert found.data_dir == tmp_path / "data"
    assert found.web.port == 0
    assert found.telegram.token == SecretStr("1:AA")
    assert found.telegram.base_url == "http://127.0.0.1:8/bot"
    assert found.telegram.access == "open"


def test_a_tree_without_sections_of_extensions_is_not_built_again(tmp_path: Path) -> None:
    assert type(load(directory=tmp_path, environment={})) is Settings


def test_flags_win_over_environment_over_dotenv_over_file_over_defaults(tmp_path: Path) -> None:
    web = '[web]\nhost = "file"\nport = 1\nopen = true\n'
    toml = f'model = "file"\nmodel_base_url = "http://file"\ncompiler = "rules"\n{web}'
    (tmp_path / "parley.toml").write_text(toml)
    (tmp_path / ".env").write_text(
        "PARLEY_MODEL=dotenv\nPARLEY_MODEL_BASE_URL=http://dotenv\nPARLEY_WEB__HOST=dotenv\n"
    )
    found = load(
        environment={"PARLEY_MODEL": "environment", "PARLEY_WEB__HOST": "environment"},
        flags={"web.host": "flag", "web.port": None},
        directory=tmp_path,
    )
    assert found.web.host == "flag"
    assert found.model == "environment"
    assert found.model_base_url == "http://dotenv"
    assert found.compiler == "rules"
    assert found.web.port == 1
    assert found.logs.level == "info"


def test_unknown_key_of_the_file_is_refused_by_name_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'parley\.toml: .*"web\.prot"; did you mean "web\.port"'):
        _load(tmp_path, "[web]\nprot = 1\n")


def test_all_that_is_wrong_in_the_settings_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, '[web]\nprot = 1\nopen = "maybe"\n[limits]\nperson_mesages = 3\n', PARLEY_MODLE="x")
    places = ("environment", "parley.toml", "parley.toml", "parley.toml")
    names = ("PARLEY_MODLE", "web.prot", "limits.person_mesages", "web.open")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(names)
    for line, place, name in zip(lines, places, names, strict=True):
        assert f"{place}: " in line
        assert name in line


@pytest.mark.parametrize(
    "gone",
    [
        '[tasks.isolation]\ndefault = "process"\n',
        '[tasks.isolation.programs]\nshop = "inline"\n',
        "[clients.ci]\nmodel_tokens_per_day = 5\n",
    ],
)
def test_a_setting_of_an_earlier_version_is_refused_with_what_to_do_instead(tmp_path: Path, gone: str) -> None:
    with pytest.raises(ConfigError, match=r'parley\.toml: there is no setting ".*" any more; .* docs/\S+\.md\.$'):
        _load(tmp_path, gone)


@pytest.mark.parametrize(
    ("wrong", "right"), [("PARLEY_MODLE", "PARLEY_MODEL"), ("PARLEY_WEB_PORT", "PARLEY_WEB__PORT")]
)
def test_unknown_variable_is_refused_by_name_with_the_nearest(tmp_path: Path, wrong: str, right: str) -> None:
    with pytest.raises(ConfigError, match=f'environment: .*"{wrong}"; did you mean "{right}"'):
        _load(tmp_path, **{wrong: "x"})


def test_unknown_variable_in_dotenv_is_refused_and_other_programs_variables_are_not(tmp_path: Path) -> None:
    assert _load(tmp_path, dotenv="OTHER=1\n").model is None
    with pytest.raises(ConfigError, match=r'\.env: .*"PARLEY_TOKEN"'):
        _load(tmp_path, dotenv="PARLEY_TOKEN=1\n")


@pytest.mark.parametrize("toml", ['model_api_key = "s3"', '[web]\npassword = "s3"', '[telegram]\ntoken = "s3"'])
def test_secret_in_the_file_is_refused_without_showing_it(tmp_path: Path, toml: str) -> None:
    with pytest.raises(ConfigError, match="is a secret and does not belong") as caught:
        _load(tmp_path, toml)
    assert "s3" not in str(caught.value)


def test_password_inside_the_redis_url_is_refused_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PARLEY_REDIS_URL") as caught:
        _load(tmp_path, 'redis_url = "redis://:pw@host/0"')
    assert "pw@" not in str(caught.value)


@pytest.mark.parametrize("key", ["model_base_url", "telegram.base_url", "slack.base_url", "discord.base_url"])
def test_no_url_with_a_password_stands_in_the_file_or_is_shown(key: str, tmp_path: Path) -> None:
    url = "http://me:s3cret@host/v1/bot"
    section, _, name = key.rpartition(".")
    with pytest.raises(ConfigError, match=key) as caught:
        _load(tmp_path, (f"[{section}]\n" if section else "") + f'{name} = "{url}"')
    assert "s3cret" not in str(caught.value)
    (tmp_path / "parley.toml").unlink()
    found = load(environment={f"PARLEY_{key.replace('.', '__').upper()}": url}, directory=tmp_path)
    assert changed(found)[key] == "http://********@host/v1/bot"


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("telegram.token_file", "123456:" + "A" * 35),
        ("telegram.agents.scout", "123456:" + "A" * 35),
        ("participants.tokens.scout", "0123456789abcdef" * 4),
        ("slack.bot_token_file", "xoxb-1-abcdefgh"),
        ("discord.token_file", f"{'M' * 26}.Gabcde.{'x' * 38}"),
        ("model_api_key_file", "sk-proj-abcdefgh"),
    ],
)
def test_a_secret_in_the_place_of_its_file_is_not_told(key: str, secret: str, tmp_path: Path) -> None:
    section, _, name = key.rpartition(".")
    with pytest.raises(ConfigError, match="contains a secret") as caught:
        _load(tmp_path, (f"[{section}]\n" if section else "") + f'{name} = "{secret}"')
    assert secret not in str(caught.value)
    assert key in str(caught.value)


def test_secret_is_read_from_the_file_that_a_setting_names(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("1:AA\n")
    found = _load(tmp_path, f'[telegram]\ntoken_file = "{tmp_path / "token"}"')
    assert found.telegram.token == SecretStr("1:AA")


def test_the_models_key_in_a_file_stays_there(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-of-the-provider")
    found = _load(tmp_path, PARLEY_MODEL_API_KEY_FILE=str(tmp_path / "key"))
    assert found.model_api_key is None
    assert found.model_api_key_file == tmp_path / "key"
    assert "sk-of-the-provider" not in secrets(found)


def test_the_models_process_sees_providers_variables_and_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GROQ_API_KEY=g\nPARLEY_SLACK__BOT_TOKEN=b\nMINE=x\n")
    seen = model_environment({"PATH": "/bin", "AZURE_API_KEY": "a", "PARLEY_TELEGRAM__TOKEN": "t"}, tmp_path)
    mine = {"PATH": "/bin", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    assert seen == {**mine, "AZURE_API_KEY": "a", "GROQ_API_KEY": "g"}


def test_missing_secret_file_and_secret_given_twice_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model_api_key_file: .*missing.* cannot be read"):
        _load(tmp_path, PARLEY_MODEL_API_KEY_FILE=str(tmp_path / "missing"))
    (tmp_path / "key").write_text("k")
    with pytest.raises(ConfigError, match="both set"):
        _load(tmp_path, PARLEY_MODEL_API_KEY="k", PARLEY_MODEL_API_KEY_FILE=str(tmp_path / "key"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARLEY_WEB__PORT", "70000"),
        ("PARLEY_TELEGRAM__ACCESS", "opne"),
        ("PARLEY_TELEGRAM__BASE_URL", "https://api.telegram.org"),
        ("PARLEY_REDIS_URL", "localhost:6379"),
        ("PARLEY_MODEL_BASE_URL", "localhost"),
    ],
)
def test_wrong_value_is_named_with_its_variable(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f'environment: {name} is "{value}": '):
        _load(tmp_path, **{name: value})


def test_named_config_must_exist_and_broken_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read"):
        load(environment={"PARLEY_CONFIG": str(tmp_path / "nowhere.toml")}, directory=tmp_path)
    with pytest.raises(ConfigError, match=r"not valid TOML: .*line 2"):
        _load(tmp_path, "[web]\nport =\n")


def test_config_named_by_variable_is_relative_to_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('model = "other"')
    assert load(environment={"PARLEY_CONFIG": "other.toml"}, directory=tmp_path).model == "other"


def test_dotenv_lies_where_its_variable_says_and_may_be_none(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PARLEY_MODEL=beside")
    (tmp_path / "secrets").write_text("PARLEY_MODEL=named\nNEAR_API_KEY=k")
    assert load(environment={"PARLEY_DOTENV": "secrets"}, directory=tmp_path).model == "named"
    assert environment_keys({"PARLEY_DOTENV": "secrets"}, tmp_path) == {"NEAR_API_KEY"}
    assert load(environment={"PARLEY_DOTENV": "/dev/null"}, directory=tmp_path).model is None


def test_dotenv_that_cannot_be_read_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_bytes(b"PARLEY_MODEL=\xff")
    with pytest.raises(ConfigError, match=r"\.env: not valid UTF-8: .* at byte 13"):
        load(environment={}, directory=tmp_path)

    def refused(*_: object, **__: object) -> None:  # root, who may run this test, can read every file
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("dotenv.dotenv_values", refused)
    with pytest.raises(ConfigError, match=r"\.env: cannot be read \(Permission denied\).* PARLEY_DOTENV=/dev/null"):
        load(environment={}, directory=tmp_path)


def test_lists_come_as_toml_lists_or_separated_by_commas(tmp_path: Path) -> None:
    assert _load(tmp_path, "[telegram]\nallow_people = [42, 7]").telegram.allow_people == ("42", "7")
    assert _load(tmp_path, PARLEY_TELEGRAM__ALLOW_PEOPLE="42, 7").telegram.allow_people == ("42", "7")


def test_empty_values_count_as_not_set(tmp_path: Path) -> None:
    found = _load(tmp_path, 'model = ""', PARLEY_TELEGRAM__TOKEN="", PARLEY_WEB__PORT="")
    assert (found.model, found.telegram.token, found.web.port) == (None, None, 8420)


def test_data_dir_follows_xdg_and_ignores_a_relative_one(tmp_path: Path) -> None:
    assert _load(tmp_path, XDG_STATE_HOME=str(tmp_path)).data_dir == tmp_path / "parley"
    assert _load(tmp_path, XDG_STATE_HOME="here").data_dir == Path.home() / ".local/state/parley"


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(_load(tmp_path).web, "port", 1)  # noqa: B010 - mypy knows that it cannot be done


def test_changed_settings_are_listed_with_secrets_masked(tmp_path: Path) -> None:
    listed = changed(
        _load(tmp_path, PARLEY_MODEL_API_KEY="s3", PARLEY_REDIS_URL="redis://:s3@host/0", PARLEY_WEB__PORT="1")
    )
    assert listed["web.port"] == "1"
    assert listed["model_api_key"] == "********"
    assert listed["redis_url"] == "redis://********@host/0"
    assert "s3" not in str(listed)


def test_providers_keys_come_from_environment_and_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GROQ_API_KEY=g\nOPENAI_API_KEY=dotenv\nPATH_OF_MINE=x\n")
    found = environment_keys({"OPENAI_API_KEY": "o", "PARLEY_MODEL_API_KEY": "p", "HOME": "/"}, tmp_path)
    assert found == {"GROQ_API_KEY", "OPENAI_API_KEY"}


def test_an_empty_key_counts_as_none(tmp_path: Path) -> None:
    assert environment_keys({"OPENAI_API_KEY": ""}, tmp_path) == set()


def test_routes_are_read_with_their_programs_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "other.toml").write_text(
        'busy = "steer"\n[[route]]\nprogram = "tax.pb"\nchat = [-5, "C1"]\n[[route]]\nprogram = ["/a.pb", "b.pb"]\n'
    )
    found = load(environment={"PARLEY_CONFIG": "conf/other.toml"}, directory=tmp_path)
    tax, several = found.route
    assert tax.program == (str(tmp_path / "conf" / "tax.pb"),)
    assert tax.chat == ("-5", "C1")
    assert several.program == ("/a.pb", str(tmp_path / "conf" / "b.pb"))
    assert found.busy == "steer"
    assert changed(found)["route"] == "2 tables"


def test_a_wrong_route_is_named_with_its_file_and_number(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'parley\.toml: \[\[route\]\] 2: .* "chanel"; did you mean "channel"\?'):
        _load(tmp_path, '[[route]]\nprogram = "a.pb"\n[[route]]\nprogram = "b.pb"\nchanel = "x"\n')
    with pytest.raises(ConfigError, match=r"environment: route must be a list of tables"):
        _load(tmp_path, PARLEY_ROUTE="a.pb")


def test_groups_of_people_are_named_by_platforms(tmp_path: Path) -> None:
    toml = '[access.groups]\nfriends = ["telegram:42", "slack:T1:U2"]\n[telegram]\nallow_groups = ["friends"]\n'
    found = _load(tmp_path, toml)
    assert found.access.groups == {"friends": ("telegram:42", "slack:T1:U2")}
    assert found.telegram.allow_groups == ("friends",)
    assert _load(tmp_path, PARLEY_ACCESS__GROUPS__FRIENDS="web:1, web:2").access.groups["friends"] == ("web:1", "web:2")


def test_a_group_that_is_not_there_and_a_person_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r'slack\.allow_groups: there is no group "freinds"; did you mean "friends"\?'
    ):
        _load(tmp_path, '[access.groups]\nfriends = []\n[slack]\nallow_groups = ["freinds"]\n')
    with pytest.raises(ConfigError, match=r'access\.groups\.friends: "42" is not a person; write <platform>:<id>'):
        _load(tmp_path, "[access.groups]\nfriends = [42]\n")


@pytest.mark.parametrize(
    ("toml", "error"),
    [
        ("[limits]\nperson_messages_per_day = -1", r"limits\.person_messages_per_day"),
        ("[access]\npairing_minutes = 0", r"access\.pairing_minutes"),
        ('busy = "drop"', "busy"),
        ('[telegram]\nvisitors = "owner"', r"telegram\.visitors"),
        ("[access]\ngroup = 3", r'"access\.group"; did you mean'),
    ],
)
def test_wrong_limits_and_access_are_refused_by_name(tmp_path: Path, toml: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        _load(tmp_path, toml)


def test_each_key_of_encryption_is_a_secret_and_remarks_are_none(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("# of the year\nabcd:c2VjcmV0 # the newest\n\nefgh:b3RoZXI=\n")
    found = _load(tmp_path, f'[encryption]\nkeys_file = "{tmp_path / "keys"}"')
    assert {"c2VjcmV0", "b3RoZXI="} <= secrets(found)
    assert secrets(found).isdisjoint({"of", "the", "year", "newest", "#"})
    assert "b3RoZXI=" not in str(changed(found))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "chat.example.org"])
def test_a_web_chat_that_others_reach_needs_a_password_or_is_said_to_be_open(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match=rf"web\.host is {host}, .*PARLEY_WEB__PASSWORD.*web\.open = true"):
        _load(tmp_path, PARLEY_WEB__HOST=host)
    locked = _load(tmp_path, PARLEY_WEB__HOST=host, PARLEY_WEB__PASSWORD="sesame").web
    assert locked.open_to == "everybody who knows the password"
    unlocked = _load(tmp_path, PARLEY_WEB__HOST=host, PARLEY_WEB__OPEN="true").web
    assert unlocked.open_to == f"everybody who reaches {host}"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_a_web_chat_on_loopback_is_open_to_who_is_on_this_machine(tmp_path: Path, host: str) -> None:
    assert _load(tmp_path, PARLEY_WEB__HOST=host).web.open_to == "everybody on this machine"
    named = _load(tmp_path, PARLEY_WEB__HOST=host, PARLEY_WEB__PUBLIC_HOSTS="chat.example.org").web
    assert named.open_to == "everybody on this machine, and to everybody who reaches chat.example.org"


def test_trusted_proxies_are_addresses_and_networks(tmp_path: Path) -> None:
    found = _load(tmp_path, PARLEY_WEB__TRUSTED_PROXIES="127.0.0.1, 10.0.0.0/8, fd00::/8")
    assert found.web.trusted_proxies == ("127.0.0.1", "10.0.0.0/8", "fd00::/8")
    with pytest.raises(ConfigError, match=r"must be addresses or networks, such as 10\.0\.0\.0/8; 'proxy' does not"):
        _load(tmp_path, PARLEY_WEB__TRUSTED_PROXIES="proxy")
