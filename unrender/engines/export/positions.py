"""Sinusoidal positions (seed 002, eq. 1) as a table."""

import numpy as np
from numpy.typing import NDArray

_WAVELENGTH = 10000.0


def sinusoids(length: int, width: int) -> NDArray[np.float32]:
    """Return the (length, width) table: sines on even, cosines on odd dimensions."""
    angle = np.arange(length, dtype=np.float32)[:, None] / _wavelengths(width)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return np.ascontiguousarray(table.reshape(length, -1)[:, :width], dtype=np.float32)


def _wavelengths(width: int) -> NDArray[np.float32]:
    even = np.arange(0, width, 2, dtype=np.float32)
    return np.asarray(np.float32(_WAVELENGTH) ** (even / np.float32(width)), dtype=np.float32)
