"""Several training processes, started by torchrun; without it there is one."""

import gc
import os

import torch
import torch.distributed as dist
import torch.distributed.nn  # imported later, its defaults would keep the group and its threads alive for good


def join() -> None:
    """Join the other processes if torchrun started this one."""
    if "RANK" in os.environ and not dist.is_initialized():
        dist.init_process_group("gloo")


def leave() -> None:
    """Part from the other processes, once all have come to this point.

    The group's threads must have ended before Python does, or they abort it: whatever uses the group must be out of
    use by now.
    """
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
        gc.collect()


def rank() -> int:
    """Return the number of this process, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def total(value: int) -> int:
    """Return the sum of a number over all processes."""
    if processes() == 1:
        return value
    tensor = torch.tensor(value)
    dist.all_reduce(tensor)
    return int(tensor)
