"""Extensions as they are found and loaded, and what people are told of those that cannot be used."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.catalog import catalog
from gateway.cli.author.new import secrets_example, section_example
from gateway.cli.output.terminal import load_settings
from gateway.extensions.extension import load_extensions, sections
from gateway.settings.tree import changed, load, secrets
from runtime.core.errors import ConfigError

Module = Callable[[str, str], str]

PLATFORM = """
from pydantic import SecretStr
from parley.ext import Extension, PlatformSettings

class Pigeons(PlatformSettings):
    "One loft. Without a key it is off."
    key: SecretStr | None = None
    key_file: str | None = None
    lofts: int = 3

extension = Extension("pigeons", api=1)
extension.platform("pigeon", settings=Pigeons, make=lambda parts: None, switch="PARLEY_PIGEON__KEY")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Writes a module that can be imported as long as the test runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    load_extensions.cache_clear()
    written: list[str] = []

    def write(name: str, source: str) -> str:
        (tmp_path / f"{name}.py").write_text(source)
        written.append(name)
        return name

    yield write
    load_extensions.cache_clear()
    for name in written:
        sys.modules.pop(name, None)


def refusal(*modules: str) -> str:
    with pytest.raises(ConfigError) as refused:
        load_extensions(modules)
    return str(refused.value)


def test_a_module_that_is_not_there_is_named_with_what_to_do() -> None:
    text = refusal("ext_missing")
    assert 'extensions.modules: "ext_missing" is not installed' in text
    assert "Install its package, or correct the name" in text


def test_a_module_that_raises_is_named_with_its_line(module: Module) -> None:
    text = refusal(module("ext_raising", "x = 1\nraise RuntimeError('no disk')\n"))
    assert "fails when it is imported: RuntimeError: no disk" in text
    assert "ext_raising.py:2" in text


def test_a_module_that_needs_another_one_is_not_said_to_be_missing(module: Module) -> None:
    assert "ModuleNotFoundError: No module named 'ext_absent'" in refusal(module("ext_needy", "import ext_absent\n"))


def test_a_module_without_an_extension_is_told_what_to_write(module: Module) -> None:
    assert 'Write `extension = Extension("name", api=1)` at its top' in refusal(module("ext_empty", ""))


@pytest.mark.parametrize(("api", "newer"), [(0, "the extension"), (2, "Parley")])
def test_a_version_that_does_not_fit_says_what_to_install(api: int, newer: str, module: Module) -> None:
    source = f'from parley.ext import Extension\nextension = Extension("old", api={api})\n'
    text = refusal(module(f"ext_version_{api}", source))
    assert f"written for version {api} of parley.ext" in text
    assert f"Install a newer version of {newer}." in text


def test_a_call_may_not_take_the_name_of_a_built_in_one(module: Module) -> None:
    source = (
        'from parley.ext import Extension\nextension = Extension("e", api=1)\n@extension.call("Say")\ndef f(): ...\n'
    )
    assert "Say is a built-in call of Parley" in refusal(module("ext_say", source))


def test_two_extensions_may_not_add_the_same_call(module: Module) -> None:
    source = (
        'from parley.ext import Extension\nextension = Extension("{}", api=1)\n@extension.call("Two")\ndef f(): ...\n'
    )
    one, other = module("ext_one", source.format("one")), module("ext_other", source.format("other"))
    assert "the call Two of other is one of one too" in refusal(one, other)


def test_a_platform_brings_its_settings_its_secrets_and_its_place_in_check_and_init(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module("ext_pigeons", PLATFORM)
    (tmp_path / "parley.toml").write_text(f'[extensions]\nmodules = ["{name}"]\n[pigeon]\nlofts = 5\n')
    monkeypatch.setenv("PARLEY_PIGEON__KEY", "coo-coo-coo")
    monkeypatch.chdir(tmp_path)
    settings = load_settings(None)
    assert "coo-coo-coo" in secrets(settings)
    assert {key: value for key, value in changed(settings).items() if "pigeon." in key} == {
        "pigeon.key": "********",
        "pigeon.lofts": "5",
    }
    assert "pigeon" in settings.platform_names
    assert catalog(settings)["pigeon"].switch == "PARLEY_PIGEON__KEY"
    (platform,) = load_extensions((name,)).platforms.values()
    assert "[pigeon]\n# One loft. Without a key it is off." in section_example(platform)
    assert "#lofts = 3\n" in section_example(platform)
    assert secrets_example(platform) == "\n#PARLEY_PIGEON__KEY=\n"


def test_settings_of_an_extension_that_cannot_be_built_are_named(module: Module) -> None:
    text = refusal(module("ext_unbuilt", PLATFORM.replace("lofts: int = 3", "lofts: object() = 3")))
    assert 'extensions.modules: "ext_unbuilt" fails when it is imported: PydanticSchemaGenerationError' in text


def test_a_pattern_in_the_settings_of_an_extension_holds_for_all_of_a_text(module: Module, tmp_path: Path) -> None:
    source = PLATFORM.replace("SecretStr\n", "Field, SecretStr\n", 1)
    name = module("ext_pattern", source.replace("lofts: int = 3", 'nest: str = Field(default="a", pattern="^[a-z]+$")'))
    (tmp_path / "parley.toml").write_text(f'[extensions]\nmodules = ["{name}"]\n[pigeon]\nnest = "b\\n"\n')
    with pytest.raises(ConfigError, match=r"pigeon\.nest"):
        load(directory=tmp_path, environment={}, sections=sections)


def test_a_secret_of_an_extension_does_not_belong_in_the_file(module: Module, tmp_path: Path) -> None:
    name = module("ext_pigeons_open", PLATFORM)
    file = tmp_path / "parley.toml"
    file.write_text(f'[extensions]\nmodules = ["{name}"]\n[pigeon]\nkey = "coo"\n')
    with pytest.raises(ConfigError, match=r"pigeon\.key.* is a secret"):
        load(config=file, environment={}, directory=tmp_path, sections=sections)


def test_an_extension_may_not_take_a_section_of_parley(module: Module, tmp_path: Path) -> None:
    name = module("ext_limits", PLATFORM.replace('"pigeon"', '"limits"'))
    environment = {"PARLEY_EXTENSIONS__MODULES": name}
    with pytest.raises(ConfigError, match='adds the section "limits"'):
        load(environment=environment, directory=tmp_path, sections=sections)
