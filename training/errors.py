"""What can go wrong in a training job.

TrainingError
├── DataError          the input is at fault: says which file, which line, and what to do
├── OptionError        an option has a value that cannot work
├── DivergedError      the learning left the valid kernels
└── IncomparableError  two versions cannot be asked the same questions
"""


class TrainingError(Exception):
    """Base of every error that a user of the training job can mend; its text is one clear message."""


class DataError(TrainingError):
    """The input is at fault."""

    def __init__(self, message: str, source: str, line: int | None = None) -> None:
        place = source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}")


class OptionError(TrainingError):
    """An option has a value that cannot work."""


class DivergedError(TrainingError):
    """The learning left the valid kernels."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not positive any more: lower --learning-rate, or learn with --diagonal")


class IncomparableError(TrainingError):
    """Two versions cannot be asked the same questions."""
