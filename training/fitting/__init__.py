"""Learning a kernel with PyTorch: likelihood, optimiser, checkpoints."""

from training.fitting.loop import FitResult, Progress, fit, resolve_options

__all__ = ["FitResult", "Progress", "fit", "resolve_options"]
