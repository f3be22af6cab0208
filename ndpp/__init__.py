"""The mathematics of nonsymmetric determinantal point processes: NumPy only, no I/O."""

from ndpp.kernel import Kernel

__all__ = ["Kernel"]
