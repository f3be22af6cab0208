"""Train a model on the demo data and plot it: a notebook of `# %%` cells, or a script.

python examples/train_and_plot.py [--dataset tiny] [--out FOLDER]
"""

# %% Options. The groceries take some minutes, the tiny set some seconds.
import argparse
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from model_store import ModelStore
from training.evaluation.charts import line_chart, number_axis, scatter_chart

parser = argparse.ArgumentParser()
parser.add_argument("--dataset", choices=["groceries", "tiny"], default="groceries")
parser.add_argument("--out", type=Path, default=Path("example"), help="folder for data, model and plots")
options = parser.parse_args()

# %% Train: the same command as in the terminal. It publishes a version and activates it.
where = ["--data", str(options.out / "data"), "--store", str(options.out / "store")]
subprocess.run([sys.executable, "-m", "training", "demo", "--dataset", options.dataset, *where], check=True)
model = ModelStore(options.out / "store").open()
print(f"{model.version}: {len(model.items.ids):,} items")

# %% The five most probable next items for a cart.
cart = [model.items.ids.index("hot-dog-buns")]
chances = model.next_item.given(cart).probabilities
for row in chances.argsort()[::-1][:5]:
    print(f"{chances[row]:6.1%}  {model.items.names[row] or model.items.ids[row]}")

# %% How it learned: the log-likelihood of validation baskets.
curve = json.loads(model.read_file("training_curve.json"))
points = list(zip(curve["step"], curve["validation_log_likelihood"], strict=True))
learning = line_chart(
    number_axis("step", curve["step"]),
    number_axis("validation log-likelihood", curve["validation_log_likelihood"]),
    [("m-tripod", "kernel", points)],
)

# %% Do its probabilities hold? Claimed against true on held-out baskets, in bins of equal mass.
report = json.loads(model.read_file("report.json"))
bins = report["calibration"]["next_item"]["bins"]
claims = [(part["claimed"], part["true"], tuple(part["interval"])) for part in bins]
calibration = scatter_chart(
    number_axis("claimed", [claimed for claimed, *_ in claims], from_zero=True),
    number_axis("true", [edge for *_, interval in claims for edge in interval], from_zero=True),
    claims,
    "claimed = true",
)

# %% Both plots on one page.
style = files("training.evaluation").joinpath("report.css").read_text(encoding="utf-8")
page = options.out / "plots.html"
page.write_text(
    f"<!doctype html><meta charset=utf-8><style>{style}</style><main>{learning}{calibration}</main>"
)
print(f"plots: {page}")
