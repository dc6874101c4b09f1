"""How the models compute: every nn.Module of the package, in torch."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def fill(module: Module, weights: Mapping[str, NDArray[np.generic]]) -> Module:
    """Give a module its weights and return it; one built on the meta device takes them without a copy."""
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in weights.items()}
    module.load_state_dict(tensors, assign=any(tensor.is_meta for tensor in module.parameters()))
    return module
