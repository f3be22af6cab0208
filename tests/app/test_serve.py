from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import redis

from app.settings import Settings, SettingsError, load_settings, settings_table
from tests.app.app_process import Service, clean_environment, eventually
from tests.app.app_shop import publish

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def valkey_of(folder: Path) -> tuple[redis.Redis, int]:
    client = redis.Redis(unix_socket_path=str(folder / "valkey" / "valkey.sock"))
    return client, int(client.info("server")["process_id"])


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TRIPOD_PORT", "eighty"),
        ("TRIPOD_CART_TTL", "0"),
        ("TRIPOD_LOG_LEVEL", "loud"),
        ("REDIS_URL", "http://example.org"),
        ("TRIPOD_ADMIN_KEY", "short"),
        ("TRIPOD_ADMIN_KEY", "long enough, but with a break\n"),
        ("TRIPOD_ADMIN_KEY", " long enough, but after a blank"),
        ("TRIPOD_ADMIN_KEY", "long enough,\tbut with a tab"),
        ("TRIPOD_ADMIN_KEY", "lang genug, aber mit ü"),
        ("TRIPOD_RATE_LIMIT", "-1"),
        ("TRIPOD_TRUSTED_PROXIES", "10.0.0.1,my-proxy"),
    ],
)
def test_invalid_setting_stops_the_start_with_one_line(variable: str, value: str) -> None:
    result = run("serve", **{variable: value})
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert variable in result.stderr
    assert ("KEY" in variable or "URL" in variable) == (value not in result.stderr)


@pytest.mark.parametrize(
    "url",
    [
        "http://shop:hunter2@example.org",
        "shop:hunter2@example.org",
        "redis://shop:hunter2/3@example.org",
        "redis://example.org:hunter2",
        "redis-server://example.org/0?password=hunter2",
    ],
)
def test_invalid_redis_url_error_hides_the_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(SettingsError, match=r"^REDIS_URL cannot be used") as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["redis://127.0.0.1:1/0?nosuch=1", "rediss://127.0.0.1:1/0?ssl_cert_reqs=bogus", "redis://127.0.0.1:1/x"],
)
def test_redis_url_with_invalid_options_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOD_REDIS_URL", url)
    with pytest.raises(SettingsError, match=r"^TRIPOD_REDIS_URL cannot be used"):
        load_settings()


@pytest.mark.parametrize(
    ("command", "store"),
    [
        ("serve", "foo://x"),
        ("worker", "s3://user:hunter2@bucket/x"),
        ("serve", "{file}"),
        ("worker", "{file}/below"),
    ],
)
def test_invalid_model_store_stops_the_start_with_one_line(command: str, store: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(command, TRIPOD_STORE=store.format(file=tmp_path / "file"))
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "TRIPOD_STORE" in result.stderr
    assert "hunter2" not in result.stderr


def test_port_in_use_stops_the_start_with_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = run("serve", "--port", port, "--store", str(tmp_path / "store"))
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert port in result.stderr


def test_settings_table_lists_every_setting() -> None:
    printed = run("settings").stdout
    assert printed.strip() == settings_table()
    assert all(field.description for field in Settings.model_fields.values())
    assert len(printed.splitlines()) == 2 + len(Settings.model_fields)


def test_carts_survive_a_restart_and_valkey_stops_with_the_service(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    service = start()
    service.client.post("/carts/saved/items", json={"item_id": "camera-0"})
    client, pid = valkey_of(tmp_path)
    client.close()
    assert service.stop() == 0
    assert not is_running(pid)
    again = start()
    assert again.client.get("/carts/saved").json()["items"][0]["item_id"] == "camera-0"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_models_and_carts_in_the_folders_of_release_0_1_are_found(tmp_path: Path, workers: str) -> None:
    store = tmp_path / "model_store" / "artifacts"
    version = publish(store)
    with Service(store) as earlier:
        earlier.client.post("/carts/saved/items", json={"item_id": "camera-0"})
    with Service(store, "--workers", workers, folder=tmp_path, PYTHONPATH=str(ROOT)) as service:
        assert service.ready().client.get("/models/active").json()["version"] == version
        assert service.client.get("/carts/saved").json()["items"][0]["item_id"] == "camera-0"
        notices = [line for line in service.log_path.read_text().splitlines() if "earlier release" in line]
    assert len(notices) == 1
    assert "mv model_store/artifacts/* var/models/" in notices[0]
    assert "mv model_store/valkey/* var/valkey/" in notices[0]
    assert not (tmp_path / "var").exists()


def test_valkey_ends_when_the_service_is_killed(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    client, pid = valkey_of(tmp_path)
    client.close()
    service.process.kill()
    eventually(lambda: not is_running(pid), "the embedded Valkey outlived the service")
    assert service.process.wait() == -signal.SIGKILL


def test_workers_end_when_the_service_is_killed_and_it_can_restart(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start("--workers", "2").ready()
    service.client.post("/carts/saved/items", json={"item_id": "camera-0"})
    processes = children(service.process.pid)
    assert len(processes) >= 3  # two workers and Valkey
    service.process.kill()
    again = start("--workers", "2", "--port", str(service.client.base_url.port))
    assert again.client.get("/carts/saved").json()["items"][0]["item_id"] == "camera-0"
    eventually(lambda: not any(map(is_running, processes)), "a process outlived the service")


def test_second_service_with_the_same_valkey_folder_is_refused(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    service = start()
    client, pid = valkey_of(tmp_path)
    client.close()
    os.kill(pid, signal.SIGSTOP)  # the server does not respond, but it still runs
    try:
        second = run("serve", "--port", "0", "--store", str(tmp_path / "store"))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert second.returncode == 2
    assert "Another Tripod" in second.stderr
    service.process.kill()  # the kernel stops Valkey, and the next service waits for that
    with Service(tmp_path / "store") as next_one:
        assert next_one.client.post("/carts").status_code == 201


def test_startup_waits_until_the_model_is_loaded(tmp_path: Path) -> None:
    store = tmp_path / "store"
    version = publish(store)
    (store / "ACTIVE").rename(tmp_path / "ACTIVE")
    os.mkfifo(store / "ACTIVE")  # opening it blocks until we write
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(Service, store)
        writing = os.open(store / "ACTIVE", os.O_WRONLY)
        (tmp_path / "ACTIVE").rename(store / "ACTIVE")  # for later reads
        log = store.parent / "service.log"
        assert b"startup complete" not in log.read_bytes()
        assert not starting.done()
        os.write(writing, f"{version}\n".encode())
        os.close(writing)
        with starting.result() as service:
            assert service.client.get("/recommend").status_code == 200
    events = [event["event"] for event in service.events()]
    assert events.index("model loaded") < events.index("Application startup complete.")


def test_hanging_model_store_does_not_block_the_start(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    os.mkfifo(tmp_path / "store" / "ACTIVE")
    with Service(tmp_path / "store") as service:
        assert set(service.client.get("/readyz").json()["missing"]) == {"model"}
        writing = os.open(tmp_path / "store" / "ACTIVE", os.O_WRONLY)
        (tmp_path / "store" / "ACTIVE").unlink()
        os.close(writing)  # unblocks the thread, so that the service can stop


def test_dead_valkey_is_restarted(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    service.client.post("/carts/saved/items", json={"item_id": "camera-0"})
    client, pid = valkey_of(tmp_path)
    client.close()
    os.kill(pid, signal.SIGKILL)
    answer = eventually(
        lambda: (found := service.client.get("/carts/saved")).status_code == 200 and found,
        "the cart cannot be read again",
    )
    assert answer.json()["items"][0]["item_id"] == "camera-0"
    client, new_pid = valkey_of(tmp_path)
    client.close()
    assert new_pid != pid


def test_server_processes_share_carts_and_metrics(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    service = start("--workers", "2").ready()
    service.client.post("/carts/shared/items", json={"item_id": "camera-0"})
    count = 'tripod_request_seconds_count.*route="/recommend"'
    for _ in range(40):
        service.client.headers["connection"] = "close"  # so that both processes get requests
        service.client.get("/recommend", params={"cart_id": "shared"})
    eventually(lambda: service.metric(count) == 40, "the metrics of the processes are not summed")
    _, pid = valkey_of(tmp_path)
    assert service.stop() == 0
    assert not is_running(pid)


def test_metrics_drop_the_model_of_a_killed_process(start: Callable[..., Service], tmp_path: Path) -> None:
    old = publish(tmp_path / "store")
    service = start("--workers", "2").ready()
    before = set(children(service.process.pid))
    worker = next(pid for pid in sorted(before) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes())
    eventually(
        lambda: service.metric(f'tripod_model_info.*"{old}"') == 1, "the metrics do not show the model"
    )
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: set(children(service.process.pid)) - before, "no other worker was started")
    service.client.headers["connection"] = "close"
    new = publish(tmp_path / "store", strength=2.0)

    def in_use(version: str) -> bool:
        try:
            return service.metric(f'tripod_model_info.*"{version}"') == 1
        except httpx.TransportError:  # the connection was to the killed worker
            return False

    eventually(
        lambda: in_use(new) and not in_use(old), "the metrics still show the model of the killed worker"
    )
