import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from model_store import ModelStore

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK = ("--rank", 6, "--skew-rank", 6, "--steps", 40, "--batch-size", 100, "--no-report", "--quiet")


def test_check_prints_summary_as_table_and_json(training: Run, planted_file: Path) -> None:
    table = training("check", planted_file)
    assert table.returncode == 0, table.stderr
    for text in ("baskets", "1,500", "basket size", "suggested --rank", "dropped"):
        assert text in table.stdout
    figures = json.loads(training("check", planted_file, "--json").stdout)
    assert figures["baskets"] == 1500
    assert figures["items"] == 40
    assert figures["suggested_rank"] == 20
    assert figures["dropped"]["duplicate_rows"] == 0


def test_check_escapes_rich_markup_in_paths(training: Run, tmp_path: Path) -> None:
    (tmp_path / "[").mkdir()
    path = tmp_path / "[" / "x].txt"
    path.write_text("a b\na c\n")
    shown = training("check", path)
    assert shown.returncode == 0, shown.stderr
    assert "[/x].txt" in shown.stdout
    missing = training("check", tmp_path / "[" / "y]")
    assert missing.returncode == 2
    assert "[/y]: there is no such file" in missing.stderr


@pytest.mark.parametrize("command", [("check",), ("fit", "--baskets")])
def test_bad_input_file_gives_one_message_and_exit_code_2(
    training: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "bad.csv").write_text("order,sku\n1,a\n")
    result = training(*command, tmp_path / "bad.csv")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.strip().startswith(
        f"error: {tmp_path / 'bad.csv'}, line 1: there is no column 'basket_id'"
    )
    assert len(result.stderr.strip().splitlines()) == 1


def test_fit_rejects_holdout_larger_than_data(training: Run, planted_file: Path, tmp_path: Path) -> None:
    result = training("fit", "--baskets", planted_file, "--store", tmp_path / "store", "--holdout", 5000)
    assert result.returncode == 2
    assert "1500 baskets are too few" in result.stderr
    assert not (tmp_path / "store").exists() or not ModelStore(tmp_path / "store").versions()


def test_fit_publishes_activates_and_prints_version_last(
    training: Run, planted_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "items.csv").write_text("item_id,name\na0,Camera\nb0,Tripod\n")
    store = ModelStore(tmp_path / "store")
    common = ("fit", "--baskets", planted_file, "--store", tmp_path / "store", "--holdout", 200)
    result = training(*common, "--items", tmp_path / "items.csv", *QUICK, "--report")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    first = result.stdout.splitlines()[-1]
    assert store.active() == first
    model = store.open()
    assert model.kernel.size == 40
    assert model.kernel.rank == 12
    assert model.items.names[model.items.row_of("b0") or 0] == "Tripod"
    assert model.manifest.metrics["test_log_likelihood"] < 0  # type: ignore[operator]
    assert set(model.manifest.metrics["models"]) >= {"tripod", "popularity", "item_knn"}  # type: ignore[arg-type]
    assert b"Tripod" in model.read_file("report.html")
    report, kept = json.loads(model.read_file("report.json")), model.manifest.metrics["models"]
    assert report["models"]["tripod"]["mpr"] == kept["tripod"]["mpr"]  # type: ignore[index,call-overload]
    assert model.manifest.hyperparameters["rank"] == 6
    assert model.manifest.hyperparameters["holdout"] == 200

    second = training(*common, "--no-activate", *QUICK).stdout.strip()
    assert second != first
    assert store.active() == first
    assert (store.open(second).kernel.factors == model.kernel.factors).all()  # the same seed


def test_fit_json_logs(training: Run, planted_file: Path, tmp_path: Path) -> None:
    result = training("fit", "--baskets", planted_file, "--store", tmp_path, *QUICK[:-1], "--json-logs")
    events = [json.loads(line) for line in result.stderr.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[:3] == ["progress"] * 3
    assert kinds[3:-1] == ["tuning"] * len(kinds[3:-1]) != []
    assert kinds[-1] == "fitted"
    assert events[-2]["done"] == events[-2]["of"]
    assert [event.get("step") for event in events[:3]] == [0, 25, 40]
    assert events[-1]["validation_log_likelihood"] == pytest.approx(events[2]["best"], abs=1e-3)


def test_fit_warns_about_short_half_life(training: Run, tmp_path: Path) -> None:
    rows = [
        f"{n},i{n % 7},2026-01-01T{n % 24:02}:00\n{n},i{n % 5},2026-01-{n % 28 + 1:02}" for n in range(1200)
    ]
    (tmp_path / "orders.csv").write_text("basket_id,item_id,timestamp\n" + "\n".join(rows) + "\n")
    common = (
        "fit",
        "--baskets",
        tmp_path / "orders.csv",
        "--store",
        tmp_path / "store",
        *QUICK,
        "--steps",
        1,
    )
    short = training(*common, "--half-life-days", 1, "--tune", "none")
    assert short.returncode == 0, short.stderr
    assert "warning: with --half-life-days 1 the 1,200 baskets are worth only " in short.stderr
    assert len(short.stderr.splitlines()) == 1
    assert training(*common, "--half-life-days", 100, "--tune", "none").stderr == ""


def test_fit_warns_about_probabilities_from_few_baskets(training: Run, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text("a\n" * 60)
    command = ("fit", "--baskets", tmp_path / "baskets.txt", "--store", tmp_path / "store", "--steps", 1)
    few = training(*command, "--validation", 3)
    assert few.returncode == 0, few.stderr
    assert "the probabilities are unreliable: they were fitted to only 3 carts; at least" in few.stderr
    assert "0.0000" in few.stderr  # the only item is certain to come
    assert "-0.0000" not in few.stderr
    assert "warning" not in training(*command, "--validation", 3, "--tune", "none").stderr


@pytest.mark.usefixtures("training")  # for its cache folder
def test_ctrl_c_while_tuning_keeps_best_model_and_can_resume(planted_file: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    command = [
        sys.executable,
        "-m",
        "training",
        "fit",
        "--baskets",
        str(planted_file),
        "--store",
        store.location,
    ]
    command += ["--rank", "6", "--skew-rank", "6", "--steps", "40", "--json-logs", "--no-report"]
    process = subprocess.Popen(
        [*command, "--tune", "thorough"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["event"] == "tuning":
            break
    os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert store.active() is None
    manifest = store.open(output.strip()).manifest
    assert manifest.hyperparameters["interrupted"] is True
    assert manifest.hyperparameters["steps_done"] == 40
    assert "tuning" in manifest.metrics

    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=120, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stderr.splitlines()[0])["event"] == "tuning"  # the fit is done already
    assert store.active() == resumed.stdout.strip()


@pytest.mark.usefixtures("training")  # for its cache folder
def test_ctrl_c_while_fitting_keeps_best_model_and_can_resume(planted_file: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    command = ["fit", "--baskets", planted_file, "--store", tmp_path / "store", "--rank", 6, "--skew-rank", 6]
    command += ["--steps", 30_000, "--patience", 5000, "--json-logs"]
    process = subprocess.Popen(
        [sys.executable, "-m", "training", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["step"] >= 100:
            break
    os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping after this step" in errors
    assert "--resume" in errors
    version = output.strip()
    assert store.active() is None
    assert store.open(version).manifest.hyperparameters["interrupted"] is True

    process = subprocess.Popen(
        [sys.executable, "-m", "training", *map(str, command), "--resume"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    steps = [json.loads(line)["step"] for line in (process.stderr.readline() for _ in range(2))]
    assert steps[0] >= 100
    process.send_signal(signal.SIGINT)
    time.sleep(0.01)
    process.communicate(timeout=60)
    assert process.returncode == 130
