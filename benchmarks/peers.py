"""How fast the formula reader decodes beside pix2tex and RapidLaTeXOCR: decoders of their published size, one run.

    python benchmarks/peers.py [--tokens 60] [--rounds 5] [--threads 1 2]

pix2tex (settings/config.yaml): four layers of width 256 with 8 heads and a gated feed-forward of 1,024, 8,000 tokens,
a memory of 80 positions for a picture of 64 x 320; torch computes the whole text again for every token, since it keeps
no cache. RapidLaTeXOCR runs the same decoder, exported to ONNX without a cache. Both have random weights, which speed
does not depend on, and neither is charged for its encoder; ours is the embedded model, with all that it records for
every token. All three take turns. On one thread the processor's time is counted, on more the clock's.
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from measuring.measure import Clock, Spread, clock, interleave
from measuring.systems import make_pixels

from unrender.checkpoints import load
from unrender.decoding import greedy
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.sessions import open_session

_WIDTH, _HEADS, _LAYERS, _INNER, _VOCABULARY, _LONGEST, _MEMORY = 256, 8, 4, 1024, 8000, 512, 80
_NEVER = -1  # an end token that no model says
Scores = Callable[[np.ndarray], np.ndarray]  # (1, T) tokens to (V,) scores of the next one


class _Layer(torch.nn.Module):
    """Attention to the text so far and to the picture, and a gated feed-forward."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(_WIDTH) for _ in range(3))
        self.queries = torch.nn.ModuleList(torch.nn.Linear(_WIDTH, _WIDTH) for _ in range(2))
        self.values = torch.nn.ModuleList(torch.nn.Linear(_WIDTH, 2 * _WIDTH) for _ in range(2))
        self.mixes = torch.nn.ModuleList(
            torch.nn.Linear(_WIDTH, 2 * _WIDTH) for _ in range(2)
        )  # attention on attention
        self.widen, self.narrow = torch.nn.Linear(_WIDTH, 2 * _INNER), torch.nn.Linear(_INNER, _WIDTH)

    def forward(self, hidden: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        normed = self.norms[0](hidden)
        hidden = hidden + self._attend(0, normed, normed, mask)
        hidden = hidden + self._attend(1, self.norms[1](hidden), memory, None)
        value, gate = self.widen(self.norms[2](hidden)).chunk(2, dim=-1)
        return hidden + self.narrow(value * torch.nn.functional.gelu(gate))

    def _attend(self, which: int, asking: torch.Tensor, given: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        def by_head(values: torch.Tensor) -> torch.Tensor:
            return values.view(1, -1, _HEADS, _WIDTH // _HEADS).transpose(1, 2)

        keys, values = self.values[which](given).chunk(2, dim=-1)
        scores = by_head(self.queries[which](asking)) @ by_head(keys).transpose(2, 3) * (_WIDTH // _HEADS) ** -0.5
        shares = (scores if mask is None else scores + mask).softmax(dim=-1)
        seen = (shares @ by_head(values)).transpose(1, 2).reshape(1, -1, _WIDTH)
        value, gate = self.mixes[which](seen).chunk(2, dim=-1)
        return value * gate.sigmoid()


class _Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(_VOCABULARY, _WIDTH)
        self.positions = torch.nn.Embedding(_LONGEST, _WIDTH)
        self.layers = torch.nn.ModuleList(_Layer() for _ in range(_LAYERS))
        self.norm, self.scores = torch.nn.LayerNorm(_WIDTH), torch.nn.Linear(_WIDTH, _VOCABULARY)

    def forward(self, tokens: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """Return (1, T, V) scores after each of (1, T) tokens; as there, of all of them."""
        places = torch.arange(tokens.shape[1])
        mask = torch.where(places[None, :] > places[:, None], -1e9, 0.0)
        hidden = self.tokens(tokens) + self.positions(places)
        for layer in self.layers:
            hidden = layer(hidden, memory, mask)
        return self.scores(self.norm(hidden))


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    torch.manual_seed(0)
    decoder, memory = _Decoder().eval(), torch.randn(1, _MEMORY, _WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "decoder.onnx"
        _export(decoder, memory, graph)
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            tick = clock(cpu_time=threads == 1)
            session = open_session(graph, threads)
            cases = {
                "unrender": partial(_ours, threads, arguments.tokens, tick),
                "pix2tex-shaped": partial(_theirs, _by_torch(decoder, memory), arguments.tokens, tick),
                "RapidLaTeXOCR-shaped": partial(_theirs, _by_onnx(session, memory), arguments.tokens, tick),
            }
            _show(threads, arguments.tokens, interleave(cases, arguments.rounds))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    return parser.parse_args()


def _show(threads: int, tokens: int, spreads: dict[str, Spread]) -> None:
    ours = spreads["unrender"].median
    for name, spread in spreads.items():
        seconds = f"{spread.median:.3f} s ({spread.low:.3f} to {spread.high:.3f})"
        print(f"{threads} thread(s), {tokens} tokens: {name:21} {seconds}, {spread.median / ours:.1f} times ours")


def _ours(threads: int, tokens: int, tick: Clock) -> float:
    loaded = load("formula")
    config = loaded.text_config
    run = OnnxEngine(loaded.folder, config=config, threads=threads).start(make_pixels(config, 1))
    begin = tick()
    greedy(run, np.array([config.generation.start]), end=_NEVER, max_tokens=tokens)
    return tick() - begin


def _theirs(scores: Scores, tokens: int, tick: Clock) -> float:
    text, begin = np.ones((1, 1), dtype=np.int64), tick()
    for _ in range(tokens):
        text = np.append(text, [[scores(text).argmax()]], axis=1)
    return tick() - begin


def _by_torch(decoder: _Decoder, memory: torch.Tensor) -> Scores:
    def scores(text: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return decoder(torch.from_numpy(text), memory)[0, -1].numpy()

    return scores


def _by_onnx(session: onnxruntime.InferenceSession, memory: torch.Tensor) -> Scores:
    known = memory.numpy()
    return lambda text: session.run(None, {"text": text, "memory": known})[0][0, -1]


def _export(decoder: _Decoder, memory: torch.Tensor, path: Path) -> None:
    torch.onnx.export(
        decoder,
        (torch.ones(1, 7, dtype=torch.int64), memory),
        path,
        input_names=["text", "memory"],
        dynamic_shapes=({1: torch.export.Dim("length", min=1, max=_LONGEST)}, None),
        dynamo=True,
        verbose=False,
    )


if __name__ == "__main__":
    main()
