"""`python -m training evaluate`, in this process and once in its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from model_store import Draft, Items, Knobs, ModelStore
from ndpp import Kernel, RelatedItems, Relevance
from ndpp.lifts import COMPLEMENT
from tests.training.retraining_shop import republished, written
from training.__main__ import app
from training.baskets import Baskets
from training.reading import read_baskets
from training.statistics.lifts import learn_lifts

HOLDOUT, VALIDATION, SEED = 60, 30, 4
METRICS = ["mpr", "hit@1", "hit@5", "hit@10", "hit@100", "ndcg@10", "mrr", "auc", "log_likelihood"]


@dataclass(frozen=True)
class Shop:
    """A model store with one active model, and its training data."""

    store: Path
    baskets: Path
    version: str


@pytest.fixture
def shop(tmp_path: Path, baskets: Baskets) -> Shop:
    """As made by `fit` of release 0.1, which split at random."""
    return made(tmp_path, baskets, {"holdout": HOLDOUT, "validation": VALIDATION})


def made(tmp_path: Path, baskets: Baskets, noted: dict[str, Any]) -> Shop:
    path = tmp_path / "baskets.txt"
    path.write_text(written(baskets))
    data = read_baskets(str(path)).baskets
    M = len(data.catalogue)
    rng = np.random.default_rng(0)
    D = rng.normal(size=(6, 6))
    share = (data.counts / len(data))[:, None]
    draft = Draft(
        kernel=Kernel.tied(
            (rng.normal(size=(M, 6)) * np.sqrt(share)).astype(np.float32), D - D.T, share[:, 0]
        ),
        kind="tied",
        items=Items(data.catalogue, names=tuple(f"Item {item}" for item in data.catalogue)),
        relevance=Relevance(
            np.arange(M + 1, dtype=np.int64),
            np.roll(np.arange(M, dtype=np.int32), 1),
            np.full(M, 0.5, dtype=np.float32),
            0.01,
        ),
        knobs=Knobs(decoupling=0.5, relevance=1.0, popularity=0.2),
        hyperparameters=noted,
        metrics={},
        data_fingerprint=data.fingerprint(),
        seed=SEED,
        files={
            "training_curve.json": b'{"step": [0, 25, 50], "validation_log_likelihood": [-30, -28, -27.5]}'
        },
    )
    store = ModelStore(tmp_path / "store")
    version = store.publish(draft)
    store.activate(version)
    return Shop(tmp_path / "store", path, version)


def with_lifts(shop: Shop) -> Shop:
    """The same model with lifts, in which all pairs that were bought together are complements."""
    store, data = ModelStore(shop.store), read_baskets(str(shop.baskets)).baskets
    old = store.open(shop.version)
    lifts = learn_lifts(data, data.select(np.arange(0)), old.kernel)
    version = republished(
        store,
        shop.version,
        files={"training_curve.json": old.read_file("training_curve.json")},
        lifts=replace(lifts, relations=np.full_like(lifts.relations, COMPLEMENT)),
    ).version
    store.activate(version)
    return replace(shop, version=version)


def run(shop: Shop, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["evaluate", "--store", str(shop.store), *map(str, arguments)])


def figures(path: Path) -> dict[str, dict[str, float]]:
    models: dict[str, dict[str, float]] = json.loads(path.read_text())["models"]
    return models


def test_own_split_gives_all_metrics_without_warning(shop: Shop, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    result = run(shop, "--baskets", shop.baskets, "--json", out)
    assert result.exit_code == 0, result.output
    assert "warning" not in result.stderr
    models = figures(out)
    assert {"tripod", "popularity", "item_knn", "confidence", "ease"} <= set(models)
    for name in METRICS:
        assert np.isfinite(models["tripod"][name])
    assert models["tripod"]["baskets"] == HOLDOUT
    assert shop.version in result.stdout
    assert "Item-KNN" in result.stdout


def test_evaluate_in_separate_process(shop: Shop, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [sys.executable, "-m", "training", "evaluate", "--model", shop.version, "--store", shop.store]
    done = subprocess.run(
        [*map(str, command), "--baskets", str(shop.baskets), "--no-baselines", "--json", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(figures(out)) == ["tripod"]


def test_other_split_of_training_data_gives_warning(shop: Shop) -> None:
    for arguments in (["--seed", SEED + 1], ["--holdout", 70], ["--validation", 31]):
        result = run(shop, "--baskets", shop.baskets, "--no-baselines", *arguments)
        assert result.exit_code == 0, result.output
        assert "has learned from some test baskets" in result.stderr
        assert "seed 4, holdout 60, validation 30" in result.stderr


def test_split_by_key_warns_only_about_more_test_baskets(tmp_path: Path, baskets: Baskets) -> None:
    noted = {"split": "by_key", "held_out_below": 0.05, "validation": VALIDATION, "holdout": 15}
    shop, out = made(tmp_path, baskets, noted), tmp_path / "figures.json"
    keys = read_baskets(str(shop.baskets)).baskets.keys
    assert keys is not None
    own = int((keys < 0.05).sum())
    common = ("--baskets", shop.baskets, "--no-baselines", "--json", out)
    for arguments, asked in (
        ([], own),
        (["--seed", 9, "--validation", 31], own),
        (["--holdout", own - 3], own - 3),
        (["--holdout", own + 1], own + 1),
    ):
        result = run(shop, *common, *arguments)
        assert result.exit_code == 0, result.output
        assert ("has learned from some test baskets" in result.stderr) == (asked > own)
        assert figures(out)["tripod"]["baskets"] == asked


@pytest.mark.parametrize(
    ("noted", "said"),
    [
        ({"split": "by_key", "held_out_below": 0.0, "holdout": 0}, "holdout 0"),
        ({"split": "by_key", "holdout": 60}, "by the keys of release 0.1"),
    ],
)
def test_unknown_held_out_baskets_give_warning(
    tmp_path: Path, baskets: Baskets, noted: dict[str, Any], said: str
) -> None:
    shop = made(tmp_path, baskets, noted)
    result = run(shop, "--baskets", shop.baskets, "--no-baselines")
    assert result.exit_code == 0, result.output
    assert "has learned from some test baskets" in result.stderr
    assert said in result.stderr


def test_split_without_held_out_baskets_is_an_error(tmp_path: Path, baskets: Baskets) -> None:
    shop = made(tmp_path, baskets, {"split": "by_key", "held_out_below": 1e-9})
    result = run(shop, "--baskets", shop.baskets, "--no-baselines")
    assert result.exit_code == 2
    assert "the model's split holds out no baskets: give --holdout N" in result.stderr
    assert run(shop, "--baskets", shop.baskets, "--no-baselines", "--holdout", 20).exit_code == 0


def test_other_data_gives_no_warning(shop: Shop, tmp_path: Path) -> None:
    lines = shop.baskets.read_text().splitlines(keepends=True)
    fresh = tmp_path / "fresh.txt"
    fresh.write_text("".join(lines[:200]))
    result = run(shop, "--baskets", fresh, "--no-baselines", "--seed", 9)
    assert result.exit_code == 0, result.output
    assert "warning" not in result.stderr


def test_knob_options_override_those_of_the_model(shop: Shop, tmp_path: Path) -> None:
    own, same, plain = (tmp_path / f"{name}.json" for name in ("own", "same", "plain"))
    common = ["--baskets", shop.baskets, "--no-baselines", "--json"]
    run(shop, *common, own)
    run(shop, *common, same, "--decoupling", 0.5, "--relevance", 1, "--popularity", 0.2)
    result = run(shop, *common, plain, "--decoupling", 0, "--relevance", 0, "--popularity", 0)
    assert "ω 0, β 0, γ 0" in result.stdout
    assert figures(own) == figures(same)
    assert figures(own)["tripod"]["mrr"] != figures(plain)["tripod"]["mrr"]
    assert figures(own)["tripod"]["log_likelihood"] == figures(plain)["tripod"]["log_likelihood"]


def test_queries_with_unknown_items(shop: Shop, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "figures.json"
    known = [line.split() for line in shop.baskets.read_text().splitlines() if len(line.split()) > 1]
    lines = [{"cart": ["nobody knows", *ids[1:]], "target": ids[0]} for ids in known[:20]]
    queries.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(shop, "--queries", queries, "--json", out).exit_code == 0
    before = figures(out)
    assert list(before) == ["tripod"]  # no baskets to fit baselines on
    with queries.open("a") as file:
        file.write('{"cart": [], "target": "nobody knows"}\n' * 20)
    assert run(shop, "--queries", queries, "--json", out).exit_code == 0
    assert figures(out)["tripod"]["mpr"] == pytest.approx(before["tripod"]["mpr"] / 2)


def test_queries_with_baskets_include_baselines(shop: Shop, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "figures.json"
    queries.write_text('{"cart": ["1000"], "target": "999"}\n' * 5)
    result = run(shop, "--queries", queries, "--baskets", shop.baskets, "--json", out)
    assert result.exit_code == 0, result.output
    assert figures(out)["popularity"]["queries"] == 5


def test_protocols_give_different_metrics(shop: Shop, tmp_path: Path) -> None:
    values = []
    for protocol in ("paper", "published"):
        out = tmp_path / f"{protocol}.json"
        run(shop, "--baskets", shop.baskets, "--no-baselines", "--protocol", protocol, "--json", out)
        assert json.loads(out.read_text())["protocol"] == protocol
        values.append(figures(out)["tripod"]["mpr"])
    assert values[0] != values[1]


def test_report_option_writes_html_and_json(shop: Shop, tmp_path: Path) -> None:
    shop = with_lifts(shop)
    folder = tmp_path / "new" / "report"
    result = run(shop, "--baskets", shop.baskets, "--report", folder, "--seed", 5)
    assert result.exit_code == 0, result.output
    html = (folder / "report.html").read_text()
    assert shop.version in html
    assert "has learned from some test baskets" in html
    document = json.loads((folder / "report.json").read_text())
    assert document["curve"][-1] == {"step": 50, "validation_log_likelihood": -27.5}
    model = ModelStore(shop.store).open(shop.version)
    assert model.lifts is not None
    pair = document["complements"][0]
    rows = [model.items.ids.index(pair[side].removeprefix("Item ")) for side in ("first", "second")]
    found = RelatedItems(model.kernel, model.lifts).between(*([row] for row in rows))
    assert (pair["lift"], pair["lift_low"], pair["together"]) == (
        found.lift[0],
        found.low[0],
        found.counted(0),
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "there is nothing to evaluate on"),
        (["--queries", "{bad}"], "bad.jsonl, line 2: this is not valid JSON"),
        (["--queries", "nowhere.jsonl"], "nowhere.jsonl: the file cannot be read"),
        (["--baskets", "nowhere.txt"], "nowhere.txt"),
        (["--baskets", "{baskets}", "--holdout", "100000"], "300 baskets are too few"),
        (["--baskets", "{baskets}", "--model", "../x"], "is not a version name"),
        (["--baskets", "{baskets}", "--model", "20200101-000000-000000"], "there is no model 20200101"),
        (["--baskets", "{singles}", "--holdout", "2"], "the test baskets: no basket has two items"),
    ],
)
def test_bad_input_gives_one_message_and_exit_code_2(
    shop: Shop, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"cart": ["a"], "target": "b"}\nnonsense\n')
    (tmp_path / "singles.txt").write_text("1000\n" * 40)
    files = {"bad": tmp_path / "bad.jsonl", "baskets": shop.baskets, "singles": tmp_path / "singles.txt"}
    result = run(shop, *(argument.format(**files) for argument in arguments))
    assert result.exit_code == 2
    assert complaint in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output


def test_empty_model_store_gives_helpful_error(tmp_path: Path, shop: Shop) -> None:
    empty = Shop(tmp_path / "empty", shop.baskets, "")
    result = run(empty, "--baskets", shop.baskets)
    assert result.exit_code == 2
    assert "has no active model: publish and activate one" in result.stderr


def test_relevance_option_needs_a_relevance_prior(shop: Shop) -> None:
    version = republished(ModelStore(shop.store), shop.version, relevance=None, knobs=Knobs()).version
    result = run(shop, "--model", version, "--baskets", shop.baskets, "--relevance", 2)
    assert result.exit_code == 2
    assert "has no relevance prior" in result.stderr


def with_customers(shop: Shop) -> Path:
    """The baskets as a table with a shopper and a time for each."""
    path = shop.baskets.with_name("baskets.csv")
    rows = ["basket_id,item_id,shopper_id,timestamp"]
    for number, line in enumerate(shop.baskets.read_text().splitlines()):
        time = f"2024-01-01T{number // 60:02d}:{number % 60:02d}:00Z"
        rows += [f"{number},{item},customer {number % 30},{time}" for item in line.split()]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_queries_with_shoppers_compare_with_history_baselines(shop: Shop, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "figures.json"
    queries.write_text(
        '{"cart": ["1000"], "target": "999", "shopper_id": "customer 3"}\n'
        '{"cart": ["1000"], "target": "999", "shopper_id": "customer 4", "timestamp": "2024-01-01T02:00"}\n'
        '{"cart": ["1000"], "target": "999", "history": [["998"], ["997", "1000"]]}\n'
    )
    result = run(shop, "--queries", queries, "--baskets", with_customers(shop), "--json", out)
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    assert {"tripod", "personal_frequency", "tifu_knn", "up_cf"} <= set(document["models"])
    assert set(document["paired"]["tifu_knn"]) == {"hit@10", "ndcg@10"}
    assert "next_basket" not in document
    assert "Tripod minus each other model" in result.stdout
    assert "customer" not in result.output + out.read_text()


def test_queries_with_shoppers_need_baskets_with_shoppers(shop: Shop, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"cart": ["1000"], "target": "999", "shopper_id": "customer 3"}\n')
    for arguments in ([], ["--baskets", shop.baskets]):
        result = run(shop, "--queries", queries, *arguments)
        assert result.exit_code == 2
        assert "line 1: 'shopper_id' needs --baskets with shoppers and timestamps" in result.stderr


def test_temporal_protocol_prints_next_baskets_beside_held_out_items(
    tmp_path: Path, baskets: Baskets
) -> None:
    noted = {"split": "temporal", "held_out_below": 0.05, "validation": 10, "holdout": 12}
    shop, out, folder = made(tmp_path, baskets, noted), tmp_path / "figures.json", tmp_path / "report"
    result = run(
        shop, "--baskets", with_customers(shop), "--protocol", "temporal", "--json", out, "--report", folder
    )
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    assert document["models"]["tifu_knn"]["queries"] == 12
    assert document["next_basket"]["shoppers"]["all"] == 12
    assert document["next_basket"]["models"]["up_cf"]["repeat"]["recall@10"]["value"] > 0
    for heading in ("The whole next basket", "Tripod minus each other model"):
        assert heading in result.stdout
        assert heading in (folder / "report.html").read_text()
    assert json.loads((folder / "report.json").read_text())["paired"] == document["paired"]
