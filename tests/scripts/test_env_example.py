from __future__ import annotations

import re
from pathlib import Path

from app.settings import Settings, variable_name
from scripts.env_example import env_example

ROOT = Path(__file__).parents[2]


def test_env_example_is_up_to_date() -> None:
    message = "outdated, run: python -m scripts.env_example > .env.example"
    assert (ROOT / ".env.example").read_text() == env_example(), message


def test_env_example_lists_every_setting() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    named = {
        line.removeprefix("#").partition("=")[0] for line in lines if line.startswith("#") and "=" in line
    }
    assert {variable_name(field) for field in Settings.model_fields} <= named


def test_compose_reads_the_env_file() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    assert "path: .env" in compose
    ours = [word for word in compose.replace("{", " ").split() if word.startswith("TRIPOD_")]
    names = {variable_name(field) for field in Settings.model_fields}
    assert {re.split("[:}-]", word)[0] for word in ours} <= names
