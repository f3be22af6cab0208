"""Which modules of training need torch: only fitting a kernel, the mixture, P(set | cart) and arrivals."""

import subprocess
import sys
from pkgutil import walk_packages

import training

NEED_TORCH = (
    "training.__main__",
    "training.arrivals",
    "training.baselines.blend",
    "training.cli",
    "training.fitting",
    "training.next_item.mixture",
    "training.next_item.own",
    "training.next_item.search",
    "training.next_item.target_share",
    "training.next_item.tuning",
    "training.paper.experiments",
    "training.paper.figures",
    "training.paper.page",
    "training.paper.tables",
    "training.paper.training_time",
    "training.pipeline",
    "training.publishing",
    "training.retraining",
    "training.sets.learn",
    "training.sets.probability",
)
WITHOUT_TORCH = [
    module.name
    for module in walk_packages(training.__path__, "training.")
    if not any(module.name == name or module.name.startswith(f"{name}.") for name in NEED_TORCH)
]


def test_modules_without_torch_include_relevance_prior_and_statistics() -> None:
    assert {
        "training.next_item.relevance_prior",
        "training.next_item.basket_index",
        "training.statistics.collect",
        "training.reading",
        "training.splitting",
        "training.evaluation.assess",
        "training.baselines",
        "training.gate",
    } <= set(WITHOUT_TORCH)


def test_import_does_not_load_torch() -> None:
    code = f"import sys, {', '.join(WITHOUT_TORCH)}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
