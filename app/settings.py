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
from model_store.items import MAX_ID_LENGTH
from model_store.shopper_ids import MIN_KEY_LENGTH


class SettingsError(Exception):
    """A setting is invalid; the message is one sentence with the name of the variable."""


class Settings(BaseSettings):
    """All settings; a field's description is its documentation."""

    model_config = SettingsConfigDict(env_prefix="TRIPOD_", frozen=True, populate_by_name=True)

    store: str = Field(
        default="var/models",
        min_length=1,
        description="Model store: a folder or a URL such as s3://…",
    )
    redis_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("TRIPOD_REDIS_URL", "REDIS_URL"),
        description="Redis server: redis://, rediss:// or unix://. If unset, an embedded Valkey is started.",
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 chooses a free one.")
    workers: int = Field(default=1, ge=1, le=64, description="Number of server processes.")
    threads: int = Field(default=2, ge=1, le=64, description="Threads for computations in each process.")
    queue: int = Field(
        default=64,
        ge=0,
        le=10_000,
        description="Computations that may wait for a thread; further requests get 503.",
    )
    cache_mb: int = Field(
        default=8,
        ge=0,
        le=4_096,
        description="Memory for cached answers in each process, in MB; 0 caches none.",
    )
    cart_ttl: int = Field(
        default=604_800,
        ge=1,
        le=31_536_000,
        description="Seconds until an unused cart expires (default: 7 days).",
    )
    cart_window: int = Field(
        default=100,
        ge=1,
        le=500,
        description="Number of the latest items of a cart that a recommendation considers.",
    )
    idempotency_ttl: int = Field(
        default=86_400,
        ge=1,
        le=31_536_000,
        description="Seconds until an Idempotency-Key expires (default: one day).",
    )
    max_body_bytes: int = Field(
        default=1_048_576,
        ge=1_024,
        le=1_073_741_824,
        description="Maximum size of a request body; larger ones get 413.",
    )
    max_ndjson_bytes: int = Field(
        default=16_777_216,
        ge=1_024,
        le=1_073_741_824,
        description="Maximum size of a body of many purchases or items (application/x-ndjson).",
    )
    rate_limit: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Requests per minute from one client address; further ones get 429. 0: no limit.",
    )
    trusted_proxies: str | None = Field(
        default=None,
        description="Proxies whose X-Forwarded-For header is trusted: addresses or networks separated by "
        "commas, or `*` for all. If unset, the header is ignored.",
    )
    poll_seconds: float = Field(
        default=1.0,
        ge=0.05,
        le=60,
        description="Seconds between checks for an activated model and changed items.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        description="Secret of at least 16 characters, sent in the X-Admin-Key header to change items or "
        "models and for all routes of shoppers, purchases and training jobs. These are disabled while it is "
        "unset.",
    )
    shopper_key: SecretStr | None = Field(
        default=None,
        description="Secret of at least 16 characters with which shopper ids are hashed: the same for "
        "service, worker and training. If unset, the model store keeps one. With another key, stored "
        "shoppers are no longer found.",
    )
    shopper_ttl: int = Field(
        default=31_536_000,
        ge=1,
        le=315_360_000,
        description="Seconds until the profile of a shopper who is not seen again expires (default: a year).",
    )
    order_ttl: int = Field(
        default=15_552_000,
        ge=1,
        le=315_360_000,
        description="Seconds in which a purchase can be cancelled or returned, and its `order_id` is not "
        "recorded twice (default: 180 days).",
    )
    storefront_shoppers: str | None = Field(
        default=None,
        description='Shopper ids that the storefront offers under "Shop as", separated by commas: for demos '
        "only, because everybody who opens the page may choose one. If unset, the page does not offer it.",
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="Training data: a file, a folder or an fsspec URL. Checked-out carts are stored beside "
        "it in `purchases/`.",
    )
    item_table: str | None = Field(
        default=None, min_length=1, description="Item table for training jobs: a file or an fsspec URL."
    )
    job_retries: int = Field(
        default=0, ge=0, le=10, description="How often a job is restarted if its worker dies."
    )
    gate_tolerance: float = Field(
        default=1.0,
        ge=0,
        le=100,
        description="How many percentage points of NDCG@10 a new model may lose against the active one and "
        "the best of the last ten activated ones, and still be activated.",
    )
    keep_models: int = Field(
        default=10,
        ge=1,
        le=10_000,
        description="Model versions to keep after a job. The active version and the one before it are always "
        "kept.",
    )
    retrain_cron: str | None = Field(
        default=None, description="Schedule for retraining: a cron expression in UTC, such as `0 4 * * *`."
    )
    retrain_after_baskets: int | None = Field(
        default=None,
        ge=1,
        description="Retrain after this many checkouts, purchases, cancellations and returns since the last "
        "job (needs Redis 7 or Valkey).",
    )
    retrain_request: str = Field(
        default="{}",
        description="Request of scheduled jobs: the JSON body of POST /training-jobs.",
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
        ):  # their text may contain a password
            raise ValueError(
                "it is not a URL such as redis://:password@host:6379/0, or has an option that redis-py does "
                "not know (write / in a password as %2F, # as %23, ? as %3F)"
            ) from None
        return url or None

    @field_validator("admin_key", "shopper_key")
    @classmethod
    def _long_enough(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < MIN_KEY_LENGTH:
            raise ValueError(f"it must have at least {MIN_KEY_LENGTH} characters")
        return key

    @field_validator("admin_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        text = key.get_secret_value() if key else ""
        if text != text.strip() or not (text.isascii() and text.isprintable()):
            raise ValueError(
                "it must have printable ASCII characters only, and no blank or line break at either end: "
                "other values cannot be sent in a header"
            )
        return key

    @field_validator("trusted_proxies")
    @classmethod
    def _known_networks(cls, text: str | None) -> str | None:
        for part in (text or "").split(","):
            try:
                ip_network(part.strip() if part.strip() not in ("", "*") else "::")
            except ValueError:
                raise ValueError(
                    "it must be addresses or networks separated by commas, such as 10.0.0.0/8"
                ) from None
        return text or None

    @field_validator("storefront_shoppers")
    @classmethod
    def _known_shopper_ids(cls, text: str | None) -> str | None:
        ids = [part.strip() for part in (text or "").split(",") if part.strip()]
        if not all(len(shopper_id) <= MAX_ID_LENGTH and shopper_id.isprintable() for shopper_id in ids):
            raise ValueError("it must be shopper ids separated by commas, of up to 256 characters each")
        return ",".join(ids) or None

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
    """Raise if the URL cannot be used for a connection; nothing is sent."""
    ConnectionPool.from_url(url).make_connection()
    database = urlsplit(url).path.strip("/")
    if not url.startswith("unix:") and database and not database.isdecimal():
        raise ValueError("the database must be a number")


def load_settings() -> Settings:
    """Read the settings from the environment; raises SettingsError."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from None


def variable_name(field: str) -> str:
    """The environment variable of a field."""
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
