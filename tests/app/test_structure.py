"""The structure of `app/`: the files of a recommendation, and imports without cycles.

A file counts if one of its functions runs for the request, after a first request has filled caches. Files
whose declarations or constants the request uses do not count.
"""

from __future__ import annotations

import ast
import asyncio
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType

import httpx

import app
from app.main import create_app
from app.settings import Settings
from tests.app.app_process import Valkey
from tests.app.app_shop import publish

FOLDER = Path(app.__file__).parent
MAX_FILES = 14


def test_recommendation_for_a_stored_cart_uses_at_most_fourteen_files(valkey: Valkey, tmp_path: Path) -> None:
    publish(tmp_path / "store")
    files: set[str] = set()

    def record(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(FOLDER):
            files.add(path.relative_to(FOLDER).as_posix())

    async def recommend() -> None:
        service = create_app(Settings(store=str(tmp_path / "store"), redis_url=valkey.url, poll_seconds=60))
        async with (
            service.router.lifespan_context(service),
            httpx.AsyncClient(transport=httpx.ASGITransport(service), base_url="http://tripod") as client,
        ):
            for cart in ("first", "second"):
                await client.post(f"/carts/{cart}/items", json={"item_id": "camera-0"})
                await client.post(f"/carts/{cart}/items", json={"item_id": f"film-{len(cart)}"})
            await client.get("/recommend?cart_id=first&k=10")  # fills the caches of metrics and model
            await service.state.services.watchers.stop()  # nothing else runs while the request is traced
            sys.setprofile(record)
            answer = await client.get("/recommend?cart_id=second&k=10")
            sys.setprofile(None)
            assert len(answer.json()["items"]) == 10

    asyncio.run(recommend())
    assert "recommend/service.py" in files
    assert len(files) <= MAX_FILES, sorted(files)


def test_app_has_no_import_cycles() -> None:
    paths = {
        ".".join(("app", *path.relative_to(FOLDER).with_suffix("").parts)): path
        for path in FOLDER.rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for module, path in paths.items():
        nodes = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom))
        found = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        imports[module] = {name for name in paths if any(f"{each}.".startswith(f"{name}.") for each in found)}
    assert len(imports["app.main"]) > 10
    TopologicalSorter(imports).prepare()  # raises CycleError
