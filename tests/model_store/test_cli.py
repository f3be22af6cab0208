"""`python -m model_store`: output and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from model_store import Draft, ModelStore
from model_store.__main__ import main
from model_store.kernel_file import FORMULA

Drafts = Callable[..., Draft]
UNKNOWN = "20000101-000000-000000"


class Result(NamedTuple):
    returncode: object
    stdout: str
    stderr: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the entry point in this process, which is faster than a process per call."""

    def call(*arguments: str, **environment: str) -> Result:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["model_store", *arguments])
            for name, value in {"COLUMNS": "120", **environment}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as exit_info:
                main()
        return Result(exit_info.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def filled(store: ModelStore, draft: Drafts) -> tuple[ModelStore, str, str]:
    old, new = store.publish(draft(1)), store.publish(draft(2))
    store.activate(old)
    return store, old, new


def test_list_with_the_store_before_or_after_the_command_or_in_the_environment(
    filled: tuple[ModelStore, str, str], run: Run
) -> None:
    store, old, new = filled
    results = [
        run("--store", store.location, "list"),
        run("list", "--store", store.location),
        run("list", TRIPOD_STORE=store.location),
        run("list", "--store", f"file://{store.location}", TRIPOD_STORE="elsewhere"),
    ]
    for result in results:
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.index(new) < result.stdout.index(old)
        assert "active" in next(line for line in result.stdout.splitlines() if old in line)


def test_list_reports_broken_versions(filled: tuple[ModelStore, str, str], run: Run) -> None:
    store, old, new = filled
    (Path(store.location) / new / "items.json").unlink()
    listing = json.loads(run("list", "--json", "--store", store.location).stdout)
    assert [(row["version"], row["active"]) for row in listing["versions"]] == [(old, True)]
    assert listing["versions"][0]["items"] == 7
    assert "items.json is missing" in listing["broken"][new]
    result = run("list", "--store", store.location)
    assert result.returncode == 0
    assert f"broken: {new}/items.json is missing" in result.stderr


def test_show_prints_the_manifest(filled: tuple[ModelStore, str, str], run: Run) -> None:
    store, old, _ = filled
    text = run("show", old, "--store", store.location).stdout
    for expected in (old, "scalable", "log_likelihood", "decoupling: 0.9", "report.html"):
        assert expected in text
    shown = json.loads(run("--store", store.location, "show", "--json", old).stdout)
    assert shown["active"] is True
    assert shown["knobs"] == {"decoupling": 0.9, "relevance": 2.0, "popularity": 0.1}


def test_show_prints_the_tensors_of_the_kernel(filled: tuple[ModelStore, str, str], run: Run) -> None:
    store, old, _ = filled
    lines = run("show", old, "--store", store.location).stdout.splitlines()
    assert f"kernel.safetensors: {FORMULA}" in lines
    table = [line.split(maxsplit=5) for line in lines if line.split()[:1] in (["V"], ["B"], ["C"])]
    assert [row[:5] for row in table] == [
        ["V", "7", "×", "2", "float32"],
        ["B", "7", "×", "2", "float32"],
        ["C", "2", "×", "2", "float64"],
    ]
    assert all("skew-symmetric" in row[5] for row in table[1:])
    shown = json.loads(run("show", old, "--json", "--store", store.location).stdout)
    assert shown["formula"] == FORMULA
    assert [(tensor["name"], tensor["shape"]) for tensor in shown["tensors"]] == [
        ("V", [7, 2]),
        ("B", [7, 2]),
        ("C", [2, 2]),
        ("d", [7]),
    ]


def test_show_of_a_damaged_kernel_file_is_one_sentence(filled: tuple[ModelStore, str, str], run: Run) -> None:
    store, old, _ = filled
    path = Path(store.location) / old / "kernel.safetensors"
    path.write_bytes(bytes(path.stat().st_size))
    result = run("show", old, "--store", store.location)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {old}/kernel.safetensors is damaged: ")


def test_activate_delete_and_prune(filled: tuple[ModelStore, str, str], run: Run, draft: Drafts) -> None:
    store, old, new = filled
    newest = store.publish(draft(3))
    for version in (new, newest):
        assert run("activate", version, "--store", store.location).returncode == 0
        assert store.active() == version
    assert run("delete", newest, "--store", store.location).returncode == 2
    assert run("prune", "--keep", "1", "--store", store.location).stdout == f"1 deleted: {old}.\n"
    assert [info.version for info in store.versions()] == [newest, new]


def test_verify_and_activate_refuse_a_damaged_version(filled: tuple[ModelStore, str, str], run: Run) -> None:
    store, old, new = filled
    result = run("verify", old, "--store", store.location)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{old} is valid: 8 files" in result.stdout
    path = Path(store.location) / new / "kernel.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    for command in ("verify", "activate"):
        result = run(command, new, "--store", store.location)
        assert result.returncode == 1
        assert result.stderr == f"error: {new}/kernel.safetensors is damaged: its checksum does not match\n"
    assert store.active() == old


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", UNKNOWN],
        ["verify", UNKNOWN],
        ["activate", UNKNOWN],
        ["delete", UNKNOWN],
        ["verify", "../../x"],
        ["delete", "../../x"],
    ],
)
def test_unknown_or_invalid_version_is_one_sentence(
    filled: tuple[ModelStore, str, str], arguments: list[str], run: Run
) -> None:
    store, _, _ = filled
    before = sorted(Path(store.location).rglob("*"))
    result = run(*arguments, "--store", store.location)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert arguments[1] in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(Path(store.location).rglob("*")) == before


def test_usage_error_exits_with_2(run: Run) -> None:
    for arguments in (["prune"], ["prune", "--keep", "-1"], ["prune", "--keep", "x"], ["fly"]):
        result = run(*arguments)
        assert result.returncode == 2
        assert "Traceback" not in result.stderr
        assert result.stdout == ""


def test_empty_store_and_unreachable_store(tmp_path: Path, run: Run) -> None:
    assert run("list", "--store", str(tmp_path)).stdout == f"No models in {tmp_path}.\n"
    result = run("list", "--store", "nowhere://x")
    assert result.returncode == 1
    assert result.stderr.startswith("error: the model store nowhere://x cannot be reached")


def test_exit_codes_of_the_process(filled: tuple[ModelStore, str, str]) -> None:
    store, old, _ = filled
    command = [sys.executable, "-m", "model_store", "--store", store.location, "verify"]
    sound = subprocess.run([*command, old], capture_output=True, text=True, check=True)
    assert old in sound.stdout
    unknown = subprocess.run([*command, UNKNOWN], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr == f"error: there is no model {UNKNOWN} in {store.location}\n"


def test_torch_polars_and_fastapi_are_not_imported() -> None:
    script = "import sys, model_store.__main__; print({'torch', 'polars', 'fastapi'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
