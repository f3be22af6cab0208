"""Errors of a training job.

TrainingError
├── DataError          the input is invalid: names the file, the line, and what to do
├── OptionError        an option has an invalid value
├── DivergedError      the fit diverged: the kernel is no longer valid
└── IncomparableError  two versions cannot be compared on the same baskets
"""


class TrainingError(Exception):
    """Base of all errors that a user can fix; the text is one message."""


class DataError(TrainingError):
    """The input is invalid."""

    def __init__(self, message: str, source: str, line: int | None = None) -> None:
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}")


class OptionError(TrainingError):
    """An option has an invalid value."""


class DivergedError(TrainingError):
    """The fit diverged: the kernel is no longer valid."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the fit diverged: {what} is not positive; lower --learning-rate or use --diagonal")


class IncomparableError(TrainingError):
    """Two versions cannot be compared on the same baskets."""
