"""Properties of docker-compose.yml and the Dockerfile, without Docker."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.run import HOUSEHOLDS

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
LONG_RUNNING = sorted(set(SERVICES) - {"bootstrap"})


def stage(name: str) -> str:
    """The lines of one stage of the Dockerfile."""
    return re.split(r"^FROM ", DOCKERFILE.split(f" AS {name}\n")[1], flags=re.MULTILINE)[0]


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_long_running_services_have_health_checks_and_are_restarted(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert "healthcheck" in service or "HEALTHCHECK" in stage(service["build"]["target"])


def test_health_check_does_not_depend_on_redis() -> None:
    probe = stage("serve").split("HEALTHCHECK")[1]
    assert "/healthz" in probe
    assert "/readyz" not in probe


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_services_have_limits_and_read_only_images(name: str) -> None:
    service = SERVICES[name]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    if "build" in service:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "USER tripod" in stage(service["build"]["target"])


def test_services_wait_for_their_dependencies() -> None:
    for name in ("api", "worker"):
        conditions = {needed: how["condition"] for needed, how in SERVICES[name]["depends_on"].items()}
        assert conditions == {"redis": "service_healthy", "bootstrap": "service_completed_successfully"}


def test_ports_are_published_on_localhost_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:${TRIPOD_PORT:-8000}:8000"]


def test_storefront_offers_the_same_households_as_make_run() -> None:
    offered = SERVICES["api"]["environment"]["TRIPOD_STOREFRONT_SHOPPERS"]
    assert offered == f"${{TRIPOD_STOREFRONT_SHOPPERS-{HOUSEHOLDS}}}"


def test_serving_image_contains_no_training_code() -> None:
    assert "training" not in stage("serve")
    assert "--from=serve-packages" in stage("serve")
    assert "torch" not in stage("serve-packages")
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = " ".join(tomllib.load(file)["project"]["dependencies"])
    assert not re.search(r"torch|polars|scipy|pandas", needed)


def test_dockerfile_needs_only_the_python_image() -> None:
    assert "syntax=" not in DOCKERFILE
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {
        "python:3.11-slim",
        "base",
        "serve-packages",
    }
    assert 'ARG TORCH_INDEX_URL=""' in DOCKERFILE
