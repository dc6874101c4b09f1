"""The ONNX Runtime engine: an exported model folder behind the Engine and DecoderRun protocols; no torch anywhere.

Shapes: B rows, T new tokens, V vocabulary, N memory vectors, H heads, D width of one head.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from unrender.checkpoints import load
from unrender.decoding import Pixels
from unrender.decoding.rules import Ids, Scores
from unrender.engines.batch_rows import Memory, Rows, cached_width
from unrender.engines.sessions import Shape, check_session, count_cores, open_session
from unrender.errors import ConfigError
from unrender.models.config import CnnConfig, TextConfig

_PARTS = ("keys", "values")


class OnnxEngine:
    """Starts decodings; holds the two graphs and nothing of any one image, so that threads may share it."""

    def __init__(self, folder: str | Path, *, threads: int | None = None, config: TextConfig | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigError(f"threads must be at least 1, got {threads}")
        encoder, decoder = Path(folder) / "encoder.onnx", Path(folder) / "decoder.onnx"
        self.config = config or load(folder).text_config
        self._encoder = open_session(encoder, threads or count_cores())
        self._decoder = open_session(decoder, threads or count_cores())
        self._image = _image_shape(self.config)
        check_session(self._encoder, encoder, {"pixels": (1, *self._image)})
        check_session(self._decoder, decoder, _decoder_inputs(self.config))
        self.watches = any(output.name == "attention" for output in self._decoder.get_outputs())
        layers = range(self.config.decoder.layers)
        self._memory_names = [f"memory_{part}.{layer}" for layer in layers for part in _PARTS]

    def start(self, pixels: Pixels, sizes: Ids | None = None) -> "OnnxRun":
        """Encode (B, C, H, W) pixels, image by image; `sizes` (B, 2) is each one's height and width without padding."""
        if sizes is None:
            run = self.begin()
            for image in pixels:
                run.join(image)
            return run
        cells = list(_cells(self.config, sizes, pixels.shape[2:]))
        run = OnnxRun(self, self._decoder, padded=math.prod(_grid(self.config, *pixels.shape[2:])))
        for image, (height, width), own in zip(pixels, sizes.tolist(), cells, strict=True):
            run.join(image[:, :height, :width], own)
        return run

    def begin(self) -> "OnnxRun":
        """Start a decoding of no images yet; they join it one by one."""
        return OnnxRun(self, self._decoder)

    def encode(self, image: Pixels, cells: Ids | None = None) -> Memory:
        """Return what the decoder needs of one (C, H, W) image."""
        outputs = self._encode(image, self._memory_names)
        keys_values = np.concatenate(outputs).reshape(-1, 2, *outputs[0].shape[1:])
        return Memory(keys_values, cells)

    def spell(self, image: Pixels) -> Scores:
        """Return scores (N, V) of the characters along one (C, H, W) image, without the decoder."""
        [scores] = self._encode(image, ["spelling"])
        alone: Scores = scores[0]
        return alone

    def _encode(self, image: Pixels, names: list[str]) -> list[NDArray[np.float32]]:
        if any(isinstance(there, int) and here != there for here, there in zip(image.shape, self._image, strict=True)):
            raise ConfigError(
                f"{self.config.name}: pixels of shape {' x '.join(map(str, image.shape))} do not fit the exported "
                f"encoder, which reads {' x '.join(map(str, self._image))} (channels, height, width)"
            )
        found: list[NDArray[np.float32]] = self._encoder.run(names, {"pixels": np.ascontiguousarray(image[None])})
        return found


class OnnxRun:
    """One batch being decoded; images may join it at any time, and rows may leave it.

    `padded` is the memory size of the whole batch when the images in it have sizes of their own.
    """

    def __init__(self, engine: OnnxEngine, session: onnxruntime.InferenceSession, *, padded: int = 0) -> None:
        self._engine, self._session, self._padded = engine, session, padded
        self._rows = Rows(engine.config.decoder)
        self._binding = session.io_binding()
        self._tokens = self._positions = np.zeros((0, 0), np.int64)  # bound as they are, written in place
        self._last, self._total = np.zeros(0, np.int32), np.zeros((), np.int32)
        self._scores = self._attention = np.zeros((0, 0), np.float32)

    def join(self, image: Pixels, cells: Ids | None = None) -> int:
        """Add a last row, at its beginning, for one more (C, H, W) image; return how much memory N it has."""
        memory = self._engine.encode(image, cells)
        self._rows.add(memory)
        return memory.size

    def step(self, tokens: Ids) -> Scores:
        """Feed (B, T) new tokens; return (B, V) scores for the one that follows."""
        rows, count = self._rows, tokens.shape[1]
        if count > 1 and rows.longest:  # several tokens at once can only begin a sequence
            return [self.step(tokens[:, index : index + 1]) for index in range(count)][-1]
        longest, room = rows.longest + count, self._engine.config.decoder.max_positions
        if longest > room:
            raise ConfigError(f"the decoder has {room} positions; ask for fewer tokens")
        rows.make_room(longest)
        if rows.moved or count != self._tokens.shape[1]:
            self._bind(count)
        self._tokens[rows.slots] = tokens
        self._positions[:] = rows.lengths[: rows.used, None] + np.arange(count)
        self._last[:] = self._positions[:, -1]
        self._total[()] = longest
        self._session.run_with_iobinding(self._binding)
        rows.lengths[rows.slots] += count
        return self._scores[rows.slots]

    def reorder(self, rows: Ids) -> None:
        """Make row i of the batch a copy of the present row rows[i]; the batch may shrink or grow."""
        self._rows.reorder(rows)

    def forget(self) -> None:
        """Begin the text of every image anew."""
        self._rows.forget()

    @property
    def attention(self) -> NDArray[np.float32] | None:
        """Return where each row looked for the scores last returned: (B, N), the mean of watched layers and heads."""
        if not self._attention.size:
            return None
        rows = self._rows
        looks = self._attention[rows.slots]
        if not self._padded:
            return looks
        spread = np.zeros((len(looks), self._padded), np.float32)
        for row, image in enumerate((rows.slots // rows.width).tolist()):
            cells = rows.cells[image]
            assert cells is not None
            spread[row, cells] = looks[row, : len(cells)]
        return spread

    def _bind(self, count: int) -> None:
        """Tell ONNX Runtime where inputs and outputs lie; needed only when that changes."""
        rows, binding = self._rows, self._binding
        used, config = rows.used, self._engine.config.decoder
        self._tokens, self._positions = np.zeros((2, used, count), np.int64)
        self._last = np.zeros(used, np.int32)
        self._scores = np.zeros((used, config.vocabulary), np.float32)
        inputs = {"tokens": self._tokens, "positions": self._positions, "last": self._last, "total": self._total}
        outputs = {"scores": self._scores}
        for layer in range(config.layers):
            for part, name in enumerate(_PARTS):
                inputs[f"memory_{name}.{layer}"] = rows.memory[layer, part, : rows.images]
                inputs[f"past_{name}.{layer}"] = outputs[f"present_{name}.{layer}"] = rows.cache[layer, part, :used]
        if isinstance(self._engine.config.encoder, CnnConfig):
            inputs["memory_mask"] = rows.mask[: rows.images]
        if self._engine.watches:
            outputs["attention"] = self._attention = np.zeros((used, rows.memory.shape[4]), np.float32)
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for name, array in outputs.items():
            binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        rows.moved = False


def _image_shape(config: TextConfig) -> Shape:
    """Return the (C, H, W) that the encoder reads; a name stands for any length."""
    if isinstance(config.encoder, CnnConfig):
        return config.encoder.channels, "height", "width"
    return config.encoder.channels, config.image.height, config.image.width


def _decoder_inputs(config: TextConfig) -> dict[str, Shape]:
    decoder = config.decoder
    head = decoder.hidden // decoder.heads
    inputs: dict[str, Shape] = {"tokens": ("B", "T"), "positions": ("B", "T"), "last": ("B",), "total": ()}
    for layer in range(decoder.layers):
        for part in _PARTS:
            inputs[f"memory_{part}.{layer}"] = ("I", decoder.heads, "N", head)
            inputs[f"past_{part}.{layer}"] = ("B", decoder.heads, "S", cached_width(decoder))
    if isinstance(config.encoder, CnnConfig):
        inputs["memory_mask"] = ("I", 1, 1, "N")
    return inputs


def _grid(config: TextConfig, height: int, width: int) -> tuple[int, int]:
    """Return the rows and columns of memory that an image of this size gives."""
    if not isinstance(config.encoder, CnnConfig):
        raise ConfigError("this encoder reads images of one size; prepare them with fit 'canvas' or 'squash'")
    down, across = (math.prod(side) for side in zip(*config.encoder.strides, strict=True))
    return -(-height // down), -(-width // across)


def _cells(config: TextConfig, sizes: Ids, padded: tuple[int, ...]) -> Iterator[Ids]:
    """Give for each image which vectors of the padded batch's memory are its own."""
    _, columns = _grid(config, *padded)
    for height, width in sizes.tolist():
        down, across = _grid(config, height, width)
        yield (np.arange(down)[:, None] * columns + np.arange(across)).reshape(-1)
