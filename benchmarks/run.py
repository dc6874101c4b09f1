"""Measure everything that docs/performance.md shows, and keep it in benchmarks/results.json.

    python benchmarks/run.py                    all parts, on a quiet machine
    python benchmarks/run.py formula growth     some parts; the others keep their last results
    python benchmarks/run.py --cpu-time --threads 1 --repeat 3     on a busy machine

Then `python benchmarks/draw.py` writes the tables and pictures. Weights are random: speed does not depend on them.
"""

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers
from measuring import Plan, Report, bench
from measuring.machine import bytes_per_token, measure_bandwidth, measure_products
from measuring.measure import Clock, clock, interleave
from measuring.subjects import EngineSubject
from measuring.systems import Reference, make_pixels, measure_weights
from measuring.twins import build_twin, take_weights

from unrender.checkpoints import Weights, load
from unrender.decoding import greedy
from unrender.engines.export import write_decoder, write_graphs
from unrender.engines.onnx_engine import OnnxEngine, OnnxRun
from unrender.layers.seq2seq import VisionText
from unrender.models import preset
from unrender.models.codec import to_json
from unrender.models.config import DecoderConfig, TextConfig
from unrender.models.formula import formula

RESULTS = Path(__file__).parent / "results.json"
SYSTEMS = ("trocr-small", "trocr-base", "swimnet", "nougat-small", "nougat-base", "donut-base")
_FORMULA_VOCABULARY = 500
_SYSTEM_BATCHES = (1, 4)
_LONGEST = 4096
_LENGTHS = (16, 32, 64, 128, 256)
_SCALES = (0.5, 1.0, 1.5)


def main() -> None:
    arguments = _arguments()
    plan = Plan(
        repeat=arguments.repeat, tokens=arguments.tokens, threads=arguments.threads, cpu_time=arguments.cpu_time
    )
    parts: dict[str, Callable[[Plan], object]] = {
        "machine": _machine,
        "formula": lambda plan: _formula(plan, arguments.formula),
        **{name: lambda plan, name=name: _system(plan, name) for name in SYSTEMS},
        "cacheless": _cacheless,
        "length": lambda plan: _length(plan, arguments.longest),
        "area": _area,
    }
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for name in arguments.parts or parts:
        if name not in parts:
            sys.exit(f"there is no part {name}; the parts are {', '.join(parts)}")
        print(f"{name} ...", flush=True)
        found = parts[name](plan)
        print(found if isinstance(found, Report) else "", flush=True)
        results[name] = _plain(found) | {"plan": asdict(plan), "date": str(date.today())}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--formula", default="", help="model folder with weights; random ones otherwise")
    parser.add_argument("--longest", type=int, default=_LONGEST)
    return parser.parse_args()


def _plain(found: object) -> dict[str, object]:
    if isinstance(found, Report):
        rows = {row.name: {name: asdict(value) for name, value in row.values.items()} for row in found.rows}
        return {"threads": found.threads, "rows": rows}
    assert isinstance(found, dict)
    return found


def _machine(plan: Plan) -> dict[str, object]:
    described = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": described[0] if described else platform.processor(),
        "cores": torch.get_num_threads() if plan.threads == 0 else plan.threads,
        "bandwidth": measure_bandwidth(plan.workers),
        "products": measure_products(plan.workers),
        "versions": {
            "onnxruntime": onnxruntime.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "bytes per token": {name: bytes_per_token(_config(name)) for name in ("formula", *SYSTEMS)},
        "encoder operations": {name: _operations(_config(name)) for name in ("formula", *SYSTEMS)},
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).is_file() else []


def _config(name: str) -> TextConfig:
    if name == "formula":
        return formula(_FORMULA_VOCABULARY)
    config = preset(name)
    if name == "donut-base":
        return replace(config, image=replace(config.image, height=1280, width=960))
    return config


def _operations(config: TextConfig) -> int:
    """Count the floating-point operations from pixels to the decoder's keys and values."""
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        module = VisionText(config).eval()
        pixels = torch.empty(make_pixels(config, 1).shape)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        memory, mask = module.encode(pixels)
        module.decoder.start(memory, mask)
    return int(counter.get_total_flops())


def _weights(config: TextConfig) -> Weights:
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(0))
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def _formula(plan: Plan, folder: str) -> Report:
    config, weights = _config("formula"), None
    if folder:
        loaded = load(folder)
        config, weights = loaded.config, loaded.weights()
    with tempfile.TemporaryDirectory() as place:
        return measure_weights(config, weights or _weights(config), Reference(), plan, Path(place), print)


def _system(plan: Plan, name: str) -> Report:
    config, plan = _config(name), replace(plan, batches=_SYSTEM_BATCHES)
    if config == preset(name):
        return bench(name, against="transformers", plan=plan, progress=print)
    twin = build_twin(config)
    with tempfile.TemporaryDirectory() as place:
        return measure_weights(config, take_weights(config, twin), Reference(twin), plan, Path(place), print)


def _engines(config: TextConfig, plan: Plan, folder: Path) -> Iterator[tuple[str, OnnxEngine]]:
    weights = _weights(config)
    for name in ("onnx", "onnx int8"):
        graphs = folder / name
        graphs.mkdir()
        write_graphs(config, weights, graphs)
        if name.endswith("int8"):
            write_decoder(config, weights, graphs, int8=True)
        (graphs / "config.json").write_text(to_json(config))
        yield name, OnnxEngine(graphs, threads=plan.workers)


class _Forgetful:
    """Computes every step from the beginning of the text, as decoders exported without a cache do."""

    def __init__(self, run: OnnxRun) -> None:
        self._run, self._tokens = run, np.zeros((1, 0), np.int64)

    def step(self, tokens: np.ndarray) -> np.ndarray:
        self._tokens = np.concatenate([self._tokens, tokens], axis=1)
        self._run.forget()
        return self._run.step(self._tokens)

    def reorder(self, rows: np.ndarray) -> None:
        self._run.reorder(rows)


def _cacheless(plan: Plan) -> dict[str, object]:
    """Measure a decoder of pix2tex's published size with and without a cache."""
    decoder = DecoderConfig(
        vocabulary=8000, hidden=256, layers=4, heads=8, feed_forward=1024, max_positions=512, memory_width=256
    )
    config = replace(formula(_FORMULA_VOCABULARY), decoder=decoder)
    tick, found = clock(plan.cpu_time), dict[str, object]()
    with tempfile.TemporaryDirectory() as place:
        engine = dict(_engines(config, plan, Path(place)))["onnx"]
        pixels = make_pixels(config, 1)

        def read(length: int, cached: bool) -> float:
            run = engine.start(pixels)
            begin = tick()
            greedy(run if cached else _Forgetful(run), np.array([[1]]), end=-1, max_tokens=length)
            return tick() - begin

        for length in _LENGTHS:
            cases = {"without cache": partial(read, length, False), "with cache": partial(read, length, True)}
            spreads = interleave(cases, min(3, plan.repeat))
            found[str(length)] = {name: asdict(spread) for name, spread in spreads.items()}
    return {"lengths": found}


def _length(plan: Plan, longest: int) -> dict[str, object]:
    """Time every token of one long text of nougat-small."""
    config = preset("nougat-small")
    config = replace(config, decoder=replace(config.decoder, max_positions=longest))
    tick, found = clock(plan.cpu_time), dict[str, list[float]]()
    with tempfile.TemporaryDirectory() as place:
        for name, engine in _engines(config, plan, Path(place)):
            run = engine.start(make_pixels(config, 1))
            times = _time_tokens(run, longest, tick)
            found[name] = [float(np.median(block)) for block in np.array_split(times, longest // 32)]
            print(f"  {name}: token 100 {_near(times, 100):.4f} s, token {longest} {_near(times, longest):.4f} s")
    return {"block": 32, "longest": longest, "seconds": found}


def _time_tokens(run: OnnxRun, longest: int, tick: Clock) -> list[float]:
    times, token = [], np.array([[0]])
    for _ in range(longest):
        begin = tick()
        token = run.step(token).argmax(axis=1)[:, None]
        times.append(tick() - begin)
    return times


def _near(times: list[float], position: int) -> float:
    return float(np.median(times[max(0, position - 32) : position + 32]))


def _area(plan: Plan) -> dict[str, object]:
    """Time the encoders of nougat-small and of the formula reader at several image sizes."""
    tick, found = clock(plan.cpu_time), dict[str, dict[str, object]]()
    for name in ("nougat-small", "formula"):
        found[name] = {}
        for scale in _SCALES:
            config = _scaled(_config(name), scale)
            with tempfile.TemporaryDirectory() as place:
                engine = dict(_engines(config, plan, Path(place)))["onnx"]
                pixels = _scaled_pixels(config, scale)
                case = partial(EngineSubject(config, engine, tick).time_start, pixels)
                spread = interleave({"onnx": case}, plan.repeat)["onnx"]
                found[name][f"{pixels.shape[2]} x {pixels.shape[3]}"] = asdict(spread)
                print(f"  {name} {pixels.shape[2]} x {pixels.shape[3]}: {spread.median:.3f} s")
    return {"sizes": found}


def _scaled(config: TextConfig, scale: float) -> TextConfig:
    if config.name == "formula":
        return config
    multiple = config.encoder.size_multiple
    sides = config.image.height, config.image.width
    height, width = (max(1, round(side * scale / multiple)) * multiple for side in sides)
    return replace(config, image=replace(config.image, height=height, width=width))


def _scaled_pixels(config: TextConfig, scale: float) -> np.ndarray:
    pixels = make_pixels(config, 1)
    if config.name != "formula":
        return pixels
    height, width = (round(side * scale / 16) * 16 for side in pixels.shape[2:])
    return np.random.default_rng(0).standard_normal((1, 1, height, width), dtype=np.float32)


if __name__ == "__main__":
    main()
