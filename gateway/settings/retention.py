"""The settings for retention: how long data is kept."""

from __future__ import annotations

from pydantic import Field, field_validator

from gateway.settings.forms import Section

NO_ARCHIVE = "none"
KEYS_KEPT_DAYS = 7


class RetentionSettings(Section):
    """In days since the last thing that happened in a session or a notebook; 0 is never.

    `archive_url` is "sqlite:///<path>", "postgresql://…" or "none". Unset it is a SQLite file in the data directory,
    and with a Redis of your own, which several machines may use, there is none.
    """

    archive_url: str | None = None
    archive_after_days: float = Field(default=30, ge=0)
    delete_after_days: float = Field(default=0, ge=0)
    replaced_days: float = Field(default=14, ge=0)
    tasks_days: float = Field(default=30, ge=0)
    notebooks_days: float = Field(default=0, ge=0)

    @field_validator("notebooks_days")
    @classmethod
    def _outlasts_keys(cls, days: float) -> float:
        if 0 < days < KEYS_KEPT_DAYS:
            raise ValueError(
                f"must be 0 for never, or at least {KEYS_KEPT_DAYS}: Parley knows the keys of writes for that long"
            )
        return days

    @field_validator("archive_url")
    @classmethod
    def _is_archive(cls, url: str | None) -> str | None:
        known = ("sqlite:///", "postgresql://", "postgres://")
        if url is not None and url != NO_ARCHIVE and not url.startswith(known):
            raise ValueError('must be "none", or a URL with sqlite:/// or postgresql://')
        return url
