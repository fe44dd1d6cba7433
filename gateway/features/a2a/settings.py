"""The settings of A2A."""

from __future__ import annotations

from gateway.settings.clients import Clients
from gateway.settings.forms import SettingsSection, Words
from runtime.core.errors import ConfigError


class A2aSettings(SettingsSection):
    """Settings of A2A, over which clients order tasks. `push_hosts` are the hosts to which news of tasks may be sent;
    only with `push_private` they may have addresses that are not public.
    """

    on: bool = False
    push_hosts: Words = ()
    push_private: bool = False

    def check(self, clients: Clients) -> None:
        """Raise ConfigError where nobody could use it."""
        if self.on and not clients:
            raise ConfigError("a2a.on is true without clients. Write [clients.<name>]: docs/connecting/a2a.md.")
