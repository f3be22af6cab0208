"""Train, evaluate and publish basket models."""

import typer

from training.cli.bundles import bundles
from training.cli.check import check
from training.cli.demo import demo
from training.cli.evaluate import evaluate
from training.cli.fit import fit_command
from training.cli.paper_tables import paper_tables

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=__doc__)
app.command("check")(check)
app.command("fit")(fit_command)
app.command("evaluate")(evaluate)
app.command("bundles")(bundles)
app.command("paper-tables")(paper_tables)
app.command("demo")(demo)

if __name__ == "__main__":
    app(prog_name="python -m training")
