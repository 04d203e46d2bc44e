"""Configuration, read once from the environment (prefix ``STUDIOGATE_``)."""

import ipaddress
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "STUDIOGATE_"
DEFAULT_RATE_LIMIT = 1_000


class SettingsError(Exception):
    """A setting has a wrong value; the text names it."""


def _rate_limit(value: object) -> object:
    return 0 if isinstance(value, str) and value.lower() == "off" else value


def _cidrs(value: object) -> object:
    if isinstance(value, str):
        return [str(ipaddress.ip_network(part.strip())) for part in value.split(",") if part.strip()]
    return value


class Settings(BaseSettings):
    """Every setting with its default. Zero as a rate limit means off."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", env_ignore_empty=True)

    database_url: str | None = Field(None, pattern=r"^postgres(ql)?://")
    data_dir: Path = Path("data")
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    workers: Annotated[int, Field(ge=1, le=64)] = Field(default_factory=lambda: min(os.cpu_count() or 1, 4))
    pool_size: Annotated[int, Field(ge=1, le=100)] = 10
    log_format: Literal["console", "json"] = "console"
    rate_limit: Annotated[int, BeforeValidator(_rate_limit), Field(ge=0)] = DEFAULT_RATE_LIMIT
    public_url: str | None = Field(None, pattern=r"^https?://[^\s]+$")
    webhook_allow_cidrs: Annotated[list[str], NoDecode, BeforeValidator(_cidrs)] = []
    webhook_allow_http: bool = False
    smtp_url: str | None = Field(None, pattern=r"^smtps?://")
    mail_from: str | None = None


def load(**overrides: object) -> Settings:
    """Read the environment; ``overrides`` (a command's options) win where they are not None."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic validates them
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        name = PREFIX + str(fault["loc"][0]).upper()
        raise SettingsError(f"{name} has a wrong value: {fault['msg']}") from None
