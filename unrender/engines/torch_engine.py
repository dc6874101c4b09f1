"""The torch engine: runs a VisionText module behind the Engine and DecoderRun protocols, NumPy in and out."""

import numpy as np
import torch
from numpy.typing import NDArray

from unrender.checkpoints import Loaded
from unrender.decoding.rules import Ids, Scores
from unrender.errors import ConfigError
from unrender.layers import fill
from unrender.layers.attention import DecoderState
from unrender.layers.decoder import Decoder
from unrender.layers.seq2seq import VisionText
from unrender.models.config import TextConfig


def open_engine(loaded: Loaded, watch: int = 0) -> "TorchEngine":
    """Build the module of a loaded model and fill it with its weights."""
    with torch.device("meta"):  # no memory until the weights come
        module = VisionText(loaded.text_config)
    return TorchEngine(loaded.text_config, fill(module, loaded.weights()), watch=watch)


class TorchEngine:
    """Starts decodings; holds the weights and nothing of any one image.

    With `watch` = n, runs also give the mean cross-attention of the last n layers as `attention`.
    """

    def __init__(self, config: TextConfig, module: VisionText, *, watch: int = 0) -> None:
        self.config = config
        self.module = module.eval()
        self.watch = watch

    @torch.inference_mode()
    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> "TorchRun":
        """Encode (B, C, H, W) pixels once; `sizes` (B, 2) is each image's height and width without padding."""
        memory, mask = self.module.encode(torch.from_numpy(pixels), None if sizes is None else torch.from_numpy(sizes))
        state = self.module.decoder.start(memory, mask)
        return TorchRun(self.module.decoder, state, self.watch)

    @torch.inference_mode()
    def spell(self, image: NDArray[np.float32]) -> Scores:
        """Return scores (N, V) of the characters along one (C, H, W) image, without the decoder."""
        memory, _ = self.module.encode(torch.from_numpy(np.ascontiguousarray(image[None])))
        return np.asarray(self.module.spelling(memory)[0].numpy(), dtype=np.float32)


class TorchRun:
    """One batch being decoded."""

    def __init__(self, decoder: Decoder, state: DecoderState, watch: int = 0) -> None:
        self._decoder = decoder
        self._state = state
        self._watch = watch

    @torch.inference_mode()
    def step(self, tokens: Ids) -> Scores:
        """Feed (B, T) new tokens; return (B, V) scores for the one that follows."""
        room = self._decoder.config.max_positions
        if self._state.length + tokens.shape[1] > room:
            raise ConfigError(f"the decoder has {room} positions; ask for fewer tokens")
        scores = self._decoder.step(torch.from_numpy(tokens), self._state, self._watch)
        return np.asarray(scores.numpy(), dtype=np.float32)

    @torch.inference_mode()
    def reorder(self, rows: Ids) -> None:
        """Make row i of the batch a copy of the present row rows[i]; the batch may shrink or grow."""
        if not np.array_equal(rows, np.arange(self._state.rows)):
            self._state.reorder(torch.from_numpy(rows))

    @property
    def attention(self) -> NDArray[np.float32] | None:
        """Return where each row looked for the scores last returned: (B, N), the mean of watched layers and heads."""
        watched = self._state.watched
        if watched is None:
            return None
        return np.asarray(watched[:, :, :, -1].mean(dim=(1, 2)).numpy(), dtype=np.float32)
