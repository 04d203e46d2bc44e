"""Configuration, read once from the environment (prefix ``STUDIOGATE_``)."""

import base64
import binascii
import contextlib
import difflib
import importlib.util
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "STUDIOGATE_"
DEFAULT_RATE_LIMIT = 1_000
KEY_BYTES = 32
KEY_FILE = "secrets.key"
OWN_FOLDERS = ("postgres", "uploads", "lost+found")  # what there is in a data folder, and in any volume
# Several hosts are allowed, and none if the query names a socket directory.
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/?#@\[\],]*)(?::[0-9]{0,5})?"
_DATABASE_URL = re.compile(rf"postgres(?:ql)?://(?:[^\s/?#@]*@)?{_HOST}(?:,{_HOST})*(?:/[^\s?#]*)?(?:\?[^\s#]*)?")
TARGETS = ("any", "read-write", "primary")  # a subset of libpq's: the service writes, so it cannot use a standby
# Both are matched as a whole: a password that is not percent-encoded would be read as a host, a port or a path.
_LIMITS_URL = re.compile(
    r"rediss?://(?:[^\s/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+)(?::[0-9]{1,5})?(?:/[0-9]*)?"
)
_BUCKET_OPTION = r"(?:endpoint=https?://[^\s?#@&]+|region=[\w-]+)"
_BUCKET_URL = re.compile(
    r"s3://(?:[^\s/?#@:]+:[^\s/?#@:]+@)?[a-z0-9][a-z0-9._-]*(?:/[^\s/?#@.][^\s/?#@]*)*/?"
    rf"(?:\?{_BUCKET_OPTION}(?:&{_BUCKET_OPTION})*)?"
)
_ADDRESS = r"[^\s@<>]+@[^\s@<>]+"


class SettingsError(Exception):
    """A setting has a wrong value or an unknown name; the text names it."""


def _rate_limit(value: object) -> object:
    return 0 if isinstance(value, str) and value.lower() == "off" else value


def _cidrs(value: object) -> object:
    if isinstance(value, str):
        return [str(ipaddress.ip_network(part.strip())) for part in value.split(",") if part.strip()]
    return value


def _smtp_url(value: object) -> object:
    parts = urlsplit(str(value))
    if value is not None and (parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.port == 0):
        raise ValueError("should be smtp://HOST or smtps://HOST, with user, password and port where needed")
    return value


def _limits_url(value: object) -> object:
    if value is not None and not (_LIMITS_URL.fullmatch(str(value)) and urlsplit(str(value)).port != 0):
        raise ValueError(
            "should be redis[s]://[user:password@]HOST[:port][/database], special characters percent-encoded"
        )
    _needs(value, "redis", "limits")
    return value


def _uploads_url(value: object) -> object:
    if value is None or Path(str(value)).is_absolute():
        return value
    if not _BUCKET_URL.fullmatch(str(value)):
        raise ValueError(
            "should be the full path of a folder, or s3://[key:secret@]BUCKET[/PREFIX][?endpoint=https://HOST&region=REGION],"
            " special characters percent-encoded (%2F for /)"
        )
    _needs(value, "obstore", "objects")
    return value


def _needs(value: object, package: str, extra: str) -> None:
    if value is not None and importlib.util.find_spec(package) is None:
        raise ValueError(f"needs a library that is not installed: install `studiogate[{extra}]`")


def _key(value: object) -> object:
    if value is not None and not all(map(_decoded, str(value).split(","))):
        raise ValueError("should be 32 bytes in base64 (openssl rand -base64 32)")
    return value


def _database_url(value: object) -> object:
    """Check the URL here, without quoting it: the driver's error for an unescaped password contains part of it."""
    if isinstance(value, str) and not _DATABASE_URL.fullmatch(value):
        raise ValueError(
            "should be postgresql://user:password@host:port/database, special characters percent-encoded (%23 for #)"
        )
    if isinstance(value, str):
        options = dict(parse_qsl(urlsplit(value).query, keep_blank_values=True))
        if not re.fullmatch(r"[0-9]{1,5}", options.get("connect_timeout", "0")):
            raise ValueError("has a connect_timeout that is no number of seconds")
        if options.get("target_session_attrs", "any") not in TARGETS:
            raise ValueError(f"has a target_session_attrs that is none of {', '.join(TARGETS)}")
    return value


def _decoded(text: str) -> bytes | None:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


class Settings(BaseSettings):
    """Every setting with its default. Zero as a rate limit means off."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", env_ignore_empty=True)

    database_url: Annotated[str | None, BeforeValidator(_database_url)] = None
    data_dir: Path = Path("data")
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    # A separate port for health and metrics, if they should not be on the public port.
    admin_port: Annotated[int | None, Field(ge=1, le=65_535)] = None
    # How long a process that was asked to stop still accepts new connections while /readyz returns 503.
    drain_seconds: Annotated[float, Field(ge=0, le=300)] = 5.0
    workers: Annotated[int, Field(ge=1, le=64)] = Field(default_factory=lambda: min(os.cpu_count() or 1, 4))
    pool_size: Annotated[int, Field(ge=1, le=100)] = 5
    # The most bookings (or cancellations) of one class that share a transaction.
    booking_batch: Annotated[int, Field(ge=1, le=500)] = 64
    log_format: Literal["console", "json"] = "console"
    rate_limit: Annotated[int, BeforeValidator(_rate_limit), Field(ge=0)] = DEFAULT_RATE_LIMIT
    # Redis or Valkey, in which several machines count requests together.
    limits_url: Annotated[str | None, BeforeValidator(_limits_url)] = None
    public_url: str | None = Field(None, pattern=r"^https?://[^\s]+$")
    webhook_allow_cidrs: Annotated[list[str], NoDecode, BeforeValidator(_cidrs)] = []
    webhook_allow_http: bool = False
    smtp_url: Annotated[str | None, BeforeValidator(_smtp_url)] = None
    mail_from: str | None = Field(None, pattern=rf"^({_ADDRESS}|[^<>\r\n]*<{_ADDRESS}>)$")
    # Where uploaded files and pictures are: a folder (default: in the data folder) or an S3-compatible bucket.
    uploads_url: Annotated[str | None, BeforeValidator(_uploads_url)] = None
    # Uploaded files, in MiB: the quotas per form and per studio, and the free disk space below which none is accepted.
    upload_quota_form: Annotated[int, Field(ge=0)] = 5 * 1024
    upload_quota_studio: Annotated[int, Field(ge=0)] = 20 * 1024
    upload_min_free_disk: Annotated[int, Field(ge=0)] = 1024
    # Seals the secrets of webhooks and form links: 32 bytes in base64. Required if processes do not share a data
    # folder. Two keys, separated by a comma, while `secrets rotate` replaces one with the other.
    secret_key: Annotated[str | None, BeforeValidator(_key)] = None


def load(**overrides: object) -> Settings:
    """Read the environment; ``overrides`` (a command's options) take precedence unless they are None.

    The whole environment must be valid, even what an option replaces: the processes that a command starts read it.
    """
    _refuse_unknown_names()
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        read = Settings()
        return Settings(**given) if given else read  # type: ignore[arg-type]  # pydantic validates them
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        name = PREFIX + str(fault["loc"][0]).upper()
        # Pydantic puts this before what our own checks say.
        said = fault["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{name} has a wrong value: {said}") from None


def _refuse_unknown_names() -> None:
    """Raise for an unknown name: a misspelled setting would otherwise silently keep its default."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            nearest = difflib.get_close_matches(name.upper(), known, 1, 0.0)
            raise SettingsError(f"{name} is not a setting; the nearest one is {nearest[0]}. Correct or unset it.")


def make_data_folder(folder: Path) -> None:
    """Create the data folder, which only its owner can read, or correct one that an earlier version left readable by
    all. Other accounts may still enter a folder of root: PostgreSQL runs as one of them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    mode, open_to_others = stat.S_IMODE(found.st_mode), 0o066 if found.st_uid == 0 else 0o077
    is_wrong = mode & open_to_others and found.st_uid == os.geteuid()
    # Folders of others might have to be entered or listed by anybody.
    if is_wrong and all(each.name.startswith(OWN_FOLDERS) for each in folder.iterdir() if each.is_dir()):
        folder.chmod(mode & ~open_to_others)


def secret_keys(settings: Settings) -> list[bytes]:
    """Return the keys of this deployment: the setting, else a file in the data folder, created at its first use.

    There are two only while one replaces the other. The file is complete before it is linked into place, so of several
    concurrent processes one creates it and all read the same key.
    """
    path = settings.data_dir / KEY_FILE
    with _named(path):
        if settings.secret_key is None and not path.exists():
            make_data_folder(settings.data_dir)
            draft = _drafted(path, [secrets.token_bytes(KEY_BYTES)])
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            draft.unlink()
    return known_secret_keys(settings)


def known_secret_keys(settings: Settings) -> list[bytes]:
    """Return the keys of this deployment without creating one."""
    path = settings.data_dir / KEY_FILE
    with _named(path):
        if settings.secret_key is None and not path.exists():
            return []
        texts = path.read_text().split() if settings.secret_key is None else settings.secret_key.split(",")
    keys = [key for key in map(_decoded, texts) if key is not None]
    if not keys or len(keys) < len(texts):
        raise SettingsError(f"{path} does not hold a key: restore it, or set {PREFIX}SECRET_KEY.")
    return keys


def write_secret_keys(settings: Settings, keys: Sequence[bytes]) -> Path:
    """Replace the key file atomically and return its path: even after a crash it has all old or all new keys."""
    path = settings.data_dir / KEY_FILE
    with _named(path):
        draft = _drafted(path, keys)
        if path.exists():
            os.chown(draft, path.stat().st_uid, path.stat().st_gid)
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    return path


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say that it is the key file that cannot be used. Not by an OSError: while a database is in use, that is a failure
    of its connection."""
    try:
        yield
    except OSError as error:
        advice = " Run this as the user that owns it, or as root." if isinstance(error, PermissionError) else ""
        raise SettingsError(f"{path} cannot be read or written: {error.strerror}.{advice}") from error


def _drafted(path: Path, keys: Sequence[bytes]) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.writelines(base64.b64encode(key).decode() + "\n" for key in keys)
        file.flush()
        os.fsync(file.fileno())
    return draft
