"""`python -m model_store`: list, show, verify, activate, delete and prune model versions."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from model_store.errors import BadRequestError, ModelStoreError
from model_store.kernel_file import KERNEL, Tensor, formula
from model_store.manifest import Manifest
from model_store.places import DEFAULT_STORE, default_store
from model_store.store import ModelStore, VersionInfo

cli = typer.Typer(
    help="List, check, activate and remove model versions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

StoreBefore = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="TRIPOD_STORE",
        help="The model store: a folder or an fsspec URL.",
        metavar="DIR",
        show_default=DEFAULT_STORE,
    ),
]
Store = Annotated[
    str | None, typer.Option("--store", help="The model store, as before the command.", metavar="DIR")
]
Version = Annotated[str, typer.Argument(help="Name of the version, see `list`.", metavar="V")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


@cli.callback()
def choose_store(context: typer.Context, store: StoreBefore = None) -> None:
    """Keep the `--store` given before the command."""
    context.obj = store


@cli.command("list")
def list_versions(context: typer.Context, as_json: AsJson = False, store: Store = None) -> None:
    """List all versions, newest first, and report the broken ones."""
    opened = _store(context, store)
    versions, broken = opened.versions(), opened.broken()
    if as_json:
        rows = [_summary(info) for info in versions]
        _print_json({"store": opened.location, "versions": rows, "broken": _texts(broken)})
        return
    if versions:
        Console().print(_listing(versions))
    else:
        typer.echo(f"No models in {opened.location}.")
    for error in broken.values():
        typer.echo(f"broken: {error}", err=True)


@cli.command()
def show(context: typer.Context, version: Version, as_json: AsJson = False, store: Store = None) -> None:
    """Print a version's manifest and the tensors of its kernel."""
    opened = _store(context, store)
    manifest, tensors = opened.manifest(version), opened.tensors(version)
    fields = {"active": version == opened.active(), **manifest.model_dump(mode="json")}
    if as_json:
        described = [tensor._asdict() for tensor in tensors]
        _print_json({**fields, "tensors": described, "formula": formula(tensors)})
        return
    table = Table("", "", show_header=False, box=None)
    for name, value in fields.items():
        table.add_row(name, _lines(value) if isinstance(value, dict) else str(value))
    Console().print(table, markup=False)
    Console().print(f"\n{KERNEL}: {formula(tensors)}\n", _tensor_table(tensors), markup=False)


@cli.command()
def verify(context: typer.Context, version: Version, store: Store = None) -> None:
    """Check the files of a version against their checksums."""
    manifest = _store(context, store).verify(version)
    typer.echo(f"{version} is valid: {len(manifest.files)} files, {_bytes(manifest):,} bytes.")


@cli.command()
def activate(context: typer.Context, version: Version, store: Store = None) -> None:
    """Check a version and make it the active one."""
    _store(context, store).activate(version)
    typer.echo(f"{version} is active.")


@cli.command()
def delete(context: typer.Context, version: Version, store: Store = None) -> None:
    """Remove a version. The active one cannot be removed."""
    _store(context, store).delete(version)
    typer.echo(f"{version} is deleted.")


@cli.command()
def prune(
    context: typer.Context,
    keep: Annotated[int, typer.Option(min=0, help="Number of newest versions to keep.")],
    store: Store = None,
) -> None:
    """Remove old and unfinished versions, but never the active one or the one active before it."""
    removed = _store(context, store).prune(keep)
    typer.echo(f"{len(removed)} deleted{': ' if removed else ''}{', '.join(removed)}.")


def main() -> None:
    """Run the command line; an error is printed as one sentence."""
    try:
        cli(prog_name="python -m model_store")
    except ModelStoreError as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(2 if isinstance(error, BadRequestError) else 1) from None


def _store(context: typer.Context, store: str | None) -> ModelStore:
    return ModelStore(store or context.obj or default_store())


def _bytes(manifest: Manifest) -> int:
    return sum(entry.bytes for entry in manifest.files.values())


def _summary(info: VersionInfo) -> dict[str, Any]:
    manifest = info.manifest
    return {
        "version": info.version,
        "active": info.active,
        "created": manifest.created.isoformat(),
        "kind": manifest.kind,
        "items": manifest.sizes.items,
        "rank": manifest.sizes.rank,
        "bytes": _bytes(manifest),
    }


def _listing(versions: list[VersionInfo]) -> Table:
    table = Table("version", "active", "kind", box=None)
    for heading in ("items", "rank", "bytes"):
        table.add_column(heading, justify="right")
    for info in versions:
        row = _summary(info)
        numbers = (f"{row[name]:,}" for name in ("items", "rank", "bytes"))
        table.add_row(info.version, "active" if info.active else "", row["kind"], *numbers)
    return table


def _tensor_table(tensors: list[Tensor]) -> Table:
    table = Table("tensor", "shape", "dtype", "meaning", box=None)
    for name, shape, dtype, meaning in tensors:
        table.add_row(name, " × ".join(f"{length:,}" for length in shape), dtype, meaning)
    return table


def _lines(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def _texts(errors: dict[str, ModelStoreError]) -> dict[str, str]:
    return {name: str(error) for name, error in errors.items()}


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
