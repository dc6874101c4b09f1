"""What a run starts from: weights drawn anew, or those of a model folder, whatever its vocabulary."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from unrender import checkpoints
from unrender.checkpoints import Loaded, Weights
from unrender.errors import ModelError
from unrender.layers import fill
from unrender.layers.seq2seq import VisionText
from unrender.models.config import TextConfig
from unrender.tokens import read_list

_ROWS_OF_TOKENS = ("decoder.tokens.weight", "decoder.scores.weight")
_NOISE = 0.1  # of the rows' own spread, on the rows of new tokens


def fresh(config: TextConfig, seed: int) -> VisionText:
    """Return a model of new weights."""
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(seed))
    return module


def load_module(loaded: Loaded) -> VisionText:
    """Return the model of a model folder."""
    return fill(VisionText(loaded.text_config), loaded.weights())


def start_from(
    source: str | Path, config: TextConfig, tokens: Sequence[str], seed: int, *, partly: bool = False
) -> VisionText:
    """Return a model that begins with the weights of a model folder; its rows are found by the tokens' texts.

    With `partly`, what the folder has no weights for is drawn anew.
    """
    loaded = checkpoints.load(source)
    if loaded.tokenizer is None or loaded.text_config.vocabulary == "tokenizer":
        raise ModelError(f"{source} has no plain list of tokens, so its weights cannot start another vocabulary")
    weights = carry_over(loaded.weights(), read_list(loaded.tokenizer), tokens, np.random.default_rng(seed))
    module = fresh(config, seed) if partly else VisionText(config)
    if partly:
        drawn = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
        weights = {name: weights.get(name, array) for name, array in drawn.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    given = {name: array.shape for name, array in weights.items()}
    if given != wanted:
        other = sorted(name for name in {*given, *wanted} if given.get(name) != wanted.get(name))
        raise ModelError(f"{source} has another shape than {config.name}, first in {other[0]}; train without --start")
    return fill(module, weights)


def carry_over(weights: Weights, old: Sequence[str], new: Sequence[str], rng: np.random.Generator) -> Weights:
    """Give each new token the row of the old token of that text, or the mean of all rows and a little noise."""
    rows = {token: row for row, token in enumerate(old)}
    known = [index for index, token in enumerate(new) if token in rows]
    carried = dict(weights)
    for name in _ROWS_OF_TOKENS:
        if name in weights:
            table = np.asarray(weights[name], dtype=np.float32)
            noise = rng.normal(size=(len(new), table.shape[1])) * _NOISE * table.std(axis=0)
            grown = (table.mean(axis=0) + noise).astype(np.float32)
            grown[known] = table[[rows[new[index]] for index in known]]
            carried[name] = grown
    return carried
