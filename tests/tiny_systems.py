"""Every kind of image-to-text system, tiny, with random weights under which texts differ and end."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from unrender import checkpoints
from unrender.decoding import greedy
from unrender.decoding.rules import Ids
from unrender.engines.export import encoders
from unrender.engines.torch_engine import TorchEngine
from unrender.layers.seq2seq import VisionText
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, SwinConfig, TextConfig, ViTConfig
from unrender.tokens import LatexTokenizer

LIMIT = 24  # tokens of a text
IMAGES = 8  # as many can be asked for
_SYMBOLS = [f"s{number}" for number in range(56)]
_DECODER = DecoderConfig(
    vocabulary=60, hidden=32, layers=2, heads=4, feed_forward=64, max_positions=40, memory_width=24
)
_POST_NORM = replace(
    _DECODER, pre_norm=False, final_norm=False, embedding_norm=False, tied=False, output_projection=False,
    activation="relu", positions="sinusoidal", position_offset=0, scale_embedding=False,
)  # fmt: skip
_FREE = ImagePrep(height=64, width=128, fit="free", channels=1, mean=(0.5,), std=(0.5,), multiple=4, pad_value=1.0)
_CNN = CnnConfig(widths=(8, 16), blocks=(1, 2), strides=((2, 2), (2, 1)), hidden=24, layers=1, heads=2, feed_forward=48)

PARTS: dict[str, tuple[ImagePrep, CnnConfig | ViTConfig | SwinConfig, DecoderConfig]] = {
    "cnn": (_FREE, _CNN, _DECODER),
    "cnn-sequence": (_FREE, replace(_CNN, layers=0, position_2d=False), _POST_NORM),
    "vit": (
        ImagePrep(height=32, width=48, fit="squash"),
        ViTConfig(height=32, width=48, patch=8, hidden=24, layers=2, heads=4, feed_forward=48, distilled=True),
        replace(_DECODER, tied=False),
    ),
    "swin": (
        ImagePrep(height=64, width=96),
        SwinConfig(width=12, depths=(2, 2), heads=(2, 4), window=4, final_norm=True),
        _DECODER,
    ),
    "swin-padded": (
        ImagePrep(height=60, width=44),
        SwinConfig(width=6, depths=(2, 2, 2), heads=(2, 2, 4), window=3),
        _DECODER,
    ),
}


def build(name: str, **changes: int) -> TorchEngine:
    """Build a system by name; `changes` go to its decoder."""
    image, encoder, decoder = PARTS[name]
    config = TextConfig(
        name=name,
        seed="004",
        task="formula",
        image=image,
        encoder=encoder,
        decoder=replace(decoder, **changes),
        generation=Generation(start=(1,), end=2, pad=0, max_tokens=LIMIT),
        vocabulary="latex",
    )
    module = VisionText(config).eval()
    _draw(module)
    return TorchEngine(_with_a_fitting_end(TorchEngine(config, module)), module, watch=1)


def save(engine: TorchEngine, folder: Path) -> Path:
    """Write the model folder of a system."""
    weights = {name: tensor.numpy() for name, tensor in engine.module.state_dict().items()}
    tokenizer = folder.parent / f"{folder.name}.tokenizer.json"
    LatexTokenizer(_SYMBOLS).save(tokenizer)
    return checkpoints.save(folder, engine.config, weights, tokenizer)


def pixels(config: TextConfig, images: int) -> tuple[NDArray[np.float32], Ids | None]:
    """Return images and, where the encoder takes any size, their sizes, which differ."""
    rng = np.random.default_rng(1)
    if not isinstance(config.encoder, CnnConfig):
        shape = (IMAGES, 3, config.image.height, config.image.width)
        return rng.standard_normal(shape).astype(np.float32)[:images], None
    sizes = np.array([[rng.integers(2, 9) * 4, rng.integers(2, 17) * 4] for _ in range(IMAGES)])[:images]
    batch = rng.standard_normal((IMAGES, 1, 32, 64)).astype(np.float32)[:images]
    height, width = sizes.max(axis=0).tolist()
    return np.ascontiguousarray(batch[:, :, :height, :width]), sizes


def prompt(config: TextConfig, rows: int) -> Ids:
    return np.tile(np.array(config.generation.start), (rows, 1))


def _with_a_fitting_end(engine: TorchEngine) -> TextConfig:
    """Choose as end the token that ends most texts, not all, and none at once."""
    run = engine.start(*pixels(engine.config, IMAGES))
    rows = [row.tokens for row in greedy(run, prompt(engine.config, IMAGES), end=2, max_tokens=LIMIT)]
    ends = {token: [row.index(token) for row in rows if token in row] for row in rows for token in row}
    usable = {token: len(set(places)) for token, places in ends.items() if len(places) < len(rows) and min(places) > 1}
    assert usable, "no token of these texts would end them in different places"
    end = max(usable, key=lambda token: (usable[token], token))
    return replace(engine.config, generation=replace(engine.config.generation, end=end))


def _draw(module: torch.nn.Module) -> None:
    """Give every tensor a value such that texts depend sharply on the image."""
    generator = torch.Generator().manual_seed(5)
    scales: list[tuple[Callable[[str], bool], float]] = [
        (lambda name: "cross_attention.query" in name or "key_value" in name, 4.0),
        (lambda name: "self_attention.qkv" in name, 2.0),
        (lambda name: name.startswith("decoder"), 0.7),
    ]
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if name.endswith("running_var"):
                tensor.copy_(0.8 + 0.2 * noise.abs())
            elif tensor.dim() < 2:
                tensor.copy_(0.1 * noise + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
            elif any(part in name for part in ("positions", "bias_table", "specials")):
                tensor.copy_(noise if name.startswith("decoder") else 0.5 * noise)
            else:
                gain = next((gain for applies, gain in scales if applies(name)), 1.2)
                tensor.copy_(gain * noise / tensor[0].numel() ** 0.5)


def _traced_once(trace: Callable[[TextConfig, VisionText], onnx.ModelProto]) -> Callable[..., onnx.ModelProto]:
    """Trace a module with equal weights once for all tests: torch.onnx.export takes seconds even for a tiny one."""
    kept: dict[bytes, bytes] = {}

    def remembered(config: TextConfig, module: VisionText) -> onnx.ModelProto:
        digest = hashlib.sha256(repr(config).encode())
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        key = digest.digest()
        if key not in kept:
            kept[key] = trace(config, module).SerializeToString()
        return onnx.ModelProto.FromString(kept[key])

    return remembered


encoders.trace_encoder = _traced_once(encoders.trace_encoder)
