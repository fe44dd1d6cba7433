"""What a person did not say is told to nobody as a null."""

from pathlib import Path

import pytest

from runtime.core.texts import load_texts
from tests.unit.runtime.execution.processor.walking import answers, main, walking

ASKED = "- Ask the user for their $phone:str"
SKIPS = "I'd rather not say", '{"does": "skip"}'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('Say "Phone: {phone}, code {code}"', "Phone: not given, code 7"),
        ('Say "Phone: $phone."', "Phone: not given."),
        ('Say "Phone: {phone:>12}"', "Phone: not given"),
    ],
)
async def test_exact_words_say_that_a_value_was_not_given(words: str, said: str) -> None:
    steps = (ASKED, "- Set $code to 7", f"- {words}", "- End program")
    text, skips = SKIPS
    assert await answers(main(*steps), "Your phone?", skips, to=text, after="hi") == [said]


async def test_within_a_text_that_is_put_together_nothing_stands_for_it() -> None:
    text, skips = SKIPS
    steps = (ASKED, '- Set $line to "Phone: " + $phone', '- Say "[{line}]"', "- End program")
    assert await answers(main(*steps), "Your phone?", skips, to=text, after="hi") == ["[Phone: ]"]


async def test_words_of_a_model_are_filled_in_likewise_and_it_is_told_so() -> None:
    text, skips = SKIPS
    steps = (ASKED, "- Tell the user what we noted as $phone", "- End program")
    async with walking(main(*steps), "Your phone?", skips, "We noted: {phone}.", after="hi") as walk:
        assert await walk.say(text) == ["We noted: not given."]
        assert "$phone (not given)" in walk.asked()


async def test_it_is_said_in_the_language_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "de.toml").write_text('[session]\nnot_given = "keine Angabe"\n', encoding="utf-8")
    text, skips = SKIPS
    steps = (ASKED, '- Say "Telefon: {phone}"', "- End program")
    texts = load_texts("de", tmp_path)
    async with walking(main(*steps), "Ihr Telefon?", skips, texts=texts, after="hallo") as walk:
        assert await walk.say(text) == ["Telefon: keine Angabe"]
