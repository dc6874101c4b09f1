"""How torch computes while training, and only then."""

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def fast_arithmetic(threads: int) -> Iterator[None]:
    """Set the number of threads and let denormal numbers, a hundred times slower, be zero; put both back."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
