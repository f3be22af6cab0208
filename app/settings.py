"""Settings of the service: environment variables with the prefix TRIPOD_, and REDIS_URL."""

from __future__ import annotations

import os
from ipaddress import ip_network
from typing import Literal
from urllib.parse import urlsplit

from croniter import croniter
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis import ConnectionPool, RedisError

from app.jobs.schemas import JobRequest


class SettingsError(Exception):
    """A setting cannot be used; the text is one sentence that names the variable."""


class Settings(BaseSettings):
    """Everything an operator can turn; each field's description is its documentation."""

    model_config = SettingsConfigDict(env_prefix="TRIPOD_", frozen=True, populate_by_name=True)

    store: str = Field(
        default="model_store/artifacts",
        min_length=1,
        description="The model store: a folder or a URL such as s3://…",
    )
    redis_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("TRIPOD_REDIS_URL", "REDIS_URL"),
        description="Where carts live: redis://, rediss:// or unix://. Unset: an embedded Valkey is started.",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    workers: int = Field(default=1, ge=1, le=64, description="The number of server processes.")
    threads: int = Field(default=2, ge=1, le=64, description="Threads for mathematics in each process.")
    queue: int = Field(
        default=64,
        ge=0,
        le=10_000,
        description="Computations that may wait for a thread; more are answered 503.",
    )
    cart_ttl: int = Field(
        default=604_800, ge=1, le=31_536_000, description="Seconds until an unused cart expires (7 days)."
    )
    cart_window: int = Field(
        default=100,
        ge=1,
        le=500,
        description="A recommendation considers this many of a cart's latest items.",
    )
    idempotency_ttl: int = Field(
        default=86_400,
        ge=1,
        le=31_536_000,
        description="Seconds for which an Idempotency-Key is remembered (a day).",
    )
    max_body_bytes: int = Field(
        default=1_048_576, ge=1_024, le=1_073_741_824, description="A larger request body is answered 413."
    )
    rate_limit: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Requests a minute from one client address; more are answered 429. 0: no limit.",
    )
    trusted_proxies: str | None = Field(
        default=None,
        description="Whose X-Forwarded-For tells a client's address: the addresses or networks of your "
        "proxies, with commas, or `*`. Unset: nobody's.",
    )
    poll_seconds: float = Field(
        default=1.0,
        ge=0.05,
        le=60,
        description="How often to look for a newly activated model and changed items.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="A secret of 16 characters or more. Changing items or models, and everything about "
        "training jobs, needs it in the header X-Admin-Key, and is closed while it is unset.",
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="Baskets that training jobs learn from: a file, a folder or an fsspec URL. Checked-out "
        "carts are kept beside them, in `purchases/`.",
    )
    item_table: str | None = Field(
        default=None, min_length=1, description="The item table of training jobs: a file or an fsspec URL."
    )
    job_retries: int = Field(
        default=0, ge=0, le=10, description="How often a job is started again should its worker die."
    )
    gate_tolerance: float = Field(
        default=1.0,
        ge=0,
        le=100,
        description="A new model may be this much worse in NDCG@10, in points of 100, than the active one "
        "and the best of the ten activated last, and still go live.",
    )
    keep_models: int = Field(
        default=10,
        ge=1,
        le=10_000,
        description="After a job, the newest so many versions stay in the store, and in any case the active "
        "one and the one that was active before it.",
    )
    retrain_cron: str | None = Field(
        default=None, description="When to retrain: a cron expression in UTC, such as `0 4 * * *`."
    )
    retrain_after_baskets: int | None = Field(
        default=None,
        ge=1,
        description="Retrain when this many carts were checked out since the last job (Redis 7 or Valkey).",
    )
    retrain_request: str = Field(
        default="{}",
        description="What a scheduled job is asked to do: the body of POST /training-jobs, as JSON.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum log level: debug, info, warning or error."
    )

    @field_validator("redis_url")
    @classmethod
    def _known_scheme(cls, url: str | None) -> str | None:
        if url is not None and urlsplit(url).scheme not in ("redis", "rediss", "unix"):
            raise ValueError("it must begin with redis://, rediss:// or unix://")
        try:
            _check_redis_url(url or "redis://")
        except (
            ValueError,
            TypeError,
            AttributeError,
            RedisError,
        ):  # their text may hold a password
            raise ValueError(
                "it is no URL such as redis://:password@host:6379/0, or has an option that redis-py does not "
                "know (write / in a password as %2F, # as %23, ? as %3F)"
            ) from None
        return url or None

    @field_validator("admin_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        text = key.get_secret_value() if key else ""
        if text != text.strip() or not (text.isascii() and text.isprintable()):
            raise ValueError(
                "it must have printable ASCII characters only, and no blank or line break at either end: "
                "otherwise no header could hold it"
            )
        return key

    @field_validator("trusted_proxies")
    @classmethod
    def _known_networks(cls, text: str | None) -> str | None:
        for part in (text or "").split(","):
            try:
                ip_network(part.strip() if part.strip() not in ("", "*") else "::")
            except ValueError:
                raise ValueError("it must be addresses or networks with commas, such as 10.0.0.0/8") from None
        return text or None

    @field_validator("retrain_cron")
    @classmethod
    def _known_times(cls, expression: str | None) -> str | None:
        if expression and not croniter.is_valid(expression):
            raise ValueError("it must be a cron expression of five fields, such as 0 4 * * *")
        return expression or None

    @field_validator("retrain_request")
    @classmethod
    def _known_request(cls, body: str) -> str:
        try:
            JobRequest.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the body"
            raise ValueError(f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
        return body


def _check_redis_url(url: str) -> None:
    """Raises if no connection can be made from it; nothing is sent."""
    ConnectionPool.from_url(url).make_connection()
    database = urlsplit(url).path.strip("/")
    if not url.startswith("unix:") and database and not database.isdecimal():
        raise ValueError("the database is a number")


def load_settings() -> Settings:
    """Read the environment; SettingsError says which variable is wrong and how."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from None


def variable_name(field: str) -> str:
    """The environment variable that sets a field."""
    return "REDIS_URL" if field == "redis_url" else f"TRIPOD_{field.upper()}"


def settings_table() -> str:
    """All settings as a Markdown table, for the README."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "unset" if field.default is None else f"`{field.default}`"
        rows.append(f"| `{variable_name(name)}` | {default} | {field.description} |")
    return "\n".join(rows)


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    location = str(first["loc"][0])
    name = "REDIS_URL" if location == "TRIPOD_REDIS_URL" and location not in os.environ else location
    name = name if name.isupper() else variable_name(name)
    message = first["msg"].removeprefix("Value error, ")
    may_hold_a_secret = name.endswith(("_KEY", "_URL")) or "@" in str(first["input"])
    shown = "" if may_hold_a_secret else f"={first['input']!r}"
    return f"{name}{shown} cannot be used: {message[0].lower()}{message[1:]}."
