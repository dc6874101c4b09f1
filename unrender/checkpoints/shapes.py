"""Every tensor of a model by name and shape, taken from its modules on the meta device: nothing is allocated."""

import math
from dataclasses import dataclass

from unrender.errors import MissingExtraError
from unrender.models import ModelConfig
from unrender.models.config import TextConfig

Shape = tuple[int, ...]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class State:
    """The tensors of a model: what training changes, and the fixed numbers beside it."""

    parameters: Shapes
    buffers: Shapes

    @property
    def all(self) -> Shapes:
        return {**self.parameters, **self.buffers}

    @property
    def count(self) -> int:
        """How many numbers training can change."""
        return sum(math.prod(shape) for shape in self.parameters.values())


def state(config: ModelConfig) -> State:
    """List the tensors of a model."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the weights of {config.name} need torch: pip install 'unrender[train]'") from error
    from unrender.layers.seq2seq import VisionText
    from unrender.layers.spatial import LabelModel

    with torch.device("meta"):
        module = VisionText(config) if isinstance(config, TextConfig) else LabelModel(config)
    parameters = {name: tuple(tensor.shape) for name, tensor in module.named_parameters()}
    everything = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    return State(parameters, {name: shape for name, shape in everything.items() if name not in parameters})
