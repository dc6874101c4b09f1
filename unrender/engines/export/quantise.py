"""Weights in 8-bit integers: blocks along the inputs, each with its own scale.

The products are computed in integers too (`MatMulNBits`), with one scale for each block of each row, so the rows of a
batch do not influence one another. Quantising whole activations (`DynamicQuantizeMatMul`) was as fast for one row and
faster for sixteen, but there the largest row sets the rounding of all.
"""

import numpy as np
from numpy.typing import NDArray

BLOCK = 128  # inputs that share a scale
_ZERO = 128  # how MatMulNBits stores 0
_LARGEST = 127


def quantise(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return (outputs, blocks, BLOCK) values and (outputs, blocks) scales of an (outputs, inputs) weight."""
    outputs, inputs = weight.shape
    blocks = -(-inputs // BLOCK)
    padded = np.zeros((outputs, blocks * BLOCK), dtype=np.float32)
    padded[:, :inputs] = weight
    grouped = padded.reshape(outputs, blocks, BLOCK)
    scales = np.abs(grouped).max(axis=2) / _LARGEST
    scales[scales == 0] = 1
    values = np.rint(grouped / scales[..., None]) + _ZERO
    return values.astype(np.uint8), scales
