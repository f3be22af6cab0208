"""`python -m scripts.env_example > .env.example`: every setting and its default, from the settings."""

from __future__ import annotations

from textwrap import wrap

from app.settings import Settings, variable_name

_HEAD = """\
# Copy this file to .env and change what you like: `docker compose up` reads it.
# Outside Docker the same names are environment variables: TRIPOD_PORT=8001 make run
# Written by `python -m scripts.env_example`; what has a # in front is at its default.

# For `docker compose build`: the address of an index with CPU wheels of torch. Without it pip takes wheels
# that bring CUDA along, which are several gigabytes larger.
#TORCH_INDEX_URL=
"""
_IN_DOCKER = {  # the defaults of docker-compose.yml, where they differ
    "redis_url": "redis://redis:6379/0",
    "store": "/store",
    "data": "/data/baskets.parquet",
    "item_table": "/data/items.parquet",
}


def env_example() -> str:
    """The whole file."""
    parts = [_HEAD]
    for name, field in Settings.model_fields.items():
        note = f" In Docker: {_IN_DOCKER[name]}" if name in _IN_DOCKER else ""
        about = "\n".join(
            f"# {line}" for line in wrap(f"{field.description}{note}", 108, break_on_hyphens=False)
        )
        default = "" if field.default is None else field.default
        parts.append(f"{about}\n#{variable_name(name)}={default}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(env_example(), end="")
