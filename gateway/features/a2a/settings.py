"""The settings of A2A."""

from __future__ import annotations

from gateway.settings.forms import SettingsSection, Words


class A2aSettings(SettingsSection):
    """Settings of A2A, over which clients order tasks. `push_hosts` are the hosts to which news of tasks may be sent;
    only with `push_private` they may have addresses that are not public.
    """

    on: bool = False
    push_hosts: Words = ()
    push_private: bool = False
