"""What the machine can do at most: bytes read a second, multiplications a second; and what a model asks of it."""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from unrender.checkpoints.fitting import state
from unrender.models.config import TextConfig

_STREAM_BYTES = 256 << 20
_MATRIX = 1536
_TRIES = 5
_FLOAT_BYTES = 4


def measure_bandwidth(threads: int, size: int = _STREAM_BYTES) -> float:
    """Return the bytes a second that so many threads together read from `size` bytes of memory."""
    shares = [np.ones(size // _FLOAT_BYTES // threads, np.float32) for _ in range(threads)]
    best = math.inf
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_TRIES):
            begin = time.perf_counter()
            list(pool.map(np.max, shares))
            best = min(best, time.perf_counter() - begin)
    return size / best


def measure_products(threads: int) -> float:
    """Return the floating-point operations a second of a large matrix product (torch's)."""
    import torch

    torch.set_num_threads(threads)
    left, right = torch.ones(_MATRIX, _MATRIX), torch.ones(_MATRIX, _MATRIX)
    best = math.inf
    for _ in range(_TRIES):
        begin = time.perf_counter()
        torch.mm(left, right)
        best = min(best, time.perf_counter() - begin)
    return 2 * _MATRIX**3 / best


def bytes_per_token(config: TextConfig) -> int:
    """Return how many bytes of 32-bit weights one step of the decoder has to read."""
    total = 0
    for name, shape in state(config).parameters.items():
        looked_up = name in ("decoder.tokens.weight", "decoder.positions.weight")
        if not name.startswith("decoder.") or "cross_attention.key_value" in name:
            continue
        if not looked_up or (name == "decoder.tokens.weight" and config.decoder.tied):
            total += math.prod(shape) * _FLOAT_BYTES
    return total
