"""`python -m training`: the commands a data scientist runs."""

import typer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=__doc__)

if __name__ == "__main__":
    app()
