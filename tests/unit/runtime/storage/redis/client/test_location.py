"""What a URL says."""

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import SSLConnection, UnixDomainSocketConnection

from runtime.core.errors import ConfigError
from runtime.storage.redis.client.location import locate, shown


def test_user_password_database_and_tls_go_to_every_host() -> None:
    found = locate("rediss://ada:g%2Fheim@one:7000,two/3?ssl_ca_certs=/ca.pem&master=green")
    assert found.seeds == (("one", 7000), ("two", 6379))
    assert found.master == "green"
    for endpoint in found.seeds:
        pool = found.client(endpoint, size=7, connect_s=1, read_s=2).connection_pool
        assert issubclass(pool.connection_class, SSLConnection)
        wanted = {"username": "ada", "password": "g/heim", "db": 3, "ssl_ca_certs": "/ca.pem", "host": endpoint[0]}
        assert wanted.items() <= pool.connection_kwargs.items()
        assert pool.max_connections == 7


def test_what_a_client_has_no_use_for_is_left_out() -> None:
    pool = locate("redis://:geheim@one/3").client(
        ("one", 6379), size=1, connect_s=1, read_s=1, without=("db", "password")
    )
    assert not {"db", "password"} & pool.connection_pool.connection_kwargs.keys()


def test_a_connection_reads_no_metadata_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    client = locate("redis://one").client(("one", 6379), size=1, connect_s=1, read_s=1)

    def refuse(name: str) -> str:
        raise AssertionError(name)

    monkeypatch.setattr(metadata, "version", refuse)
    assert client.connection_pool.make_connection()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "location", [Path("/run/valkey.sock"), "unix:///run/valkey.sock", "unix:///run/valkey.sock?db=2"]
)
def test_a_socket_is_a_path(location: Path | str) -> None:
    found = locate(location)
    assert found.seeds == (("/run/valkey.sock", 0),)
    pool = found.client(found.seeds[0], size=1, connect_s=1, read_s=1).connection_pool
    assert issubclass(pool.connection_class, UnixDomainSocketConnection)
    assert pool.connection_kwargs["path"] == "/run/valkey.sock"


@pytest.mark.parametrize("location", [Path("/run/valkey.sock"), "redis://one", "rediss://one"])
def test_a_command_is_packed_in_one_piece_as_the_servers_protocol_has_it(location: Path | str) -> None:
    found = locate(location)
    pool: Any = found.client(found.seeds[0], size=1, connect_s=1, read_s=1).connection_pool
    text = "ü" * 5_000
    packed = pool.make_connection().pack_command("CLIENT SETINFO", "LIB-NAME", text, 3)
    parts = [b"CLIENT", b"SETINFO", b"LIB-NAME", text.encode(), b"3"]
    assert packed == [b"*5\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)]


@pytest.mark.parametrize("url", ["http://host", "redis://:geh/eim@host", "redis://host:port", "redis://one,two:x"])
def test_a_bad_url_is_an_error_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ConfigError, match="PARLEY_REDIS_URL") as raised:
        locate(url)
    assert "geh" not in str(raised.value)
    assert "host:port" not in str(raised.value)


def test_what_is_shown_and_written_about_a_location_has_no_password() -> None:
    url = "redis://ada:geheim@one,two/0"
    assert shown(url) == "redis://one,two/0"
    assert "geheim" not in repr(locate(url))
