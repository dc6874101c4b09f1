"""Open ONNX files with ONNX Runtime; whatever is wrong with one becomes a sentence."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from unrender.errors import ModelError

Shape = Sequence[int | str]  # a name stands for any length

# Measured: Add and LayerNormalization apart are several times faster on a CPU than fused to one node.
_UNWANTED_FUSIONS = ["SkipLayerNormFusion"]
# Threads that turn in circles while they wait take cores from one another and from everybody else: on a busy machine a
# page took 2.5 times the processor time and three times as long.
_SPINNING = "session.intra_op.allow_spinning"
_ERRORS_ONLY = 3
_TOO_NEW = (
    "ir version",
    "opset",
    "no op registered",
    "is not a registered function/op",
    "not find an implementation",
    "unrecognized attribute",
)
_WITHOUT_DATA = ("external data", "external initializer")
_FAILURES = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoModel,
    failures.NoSuchFile,
    failures.NotImplemented,
    failures.RuntimeException,
)


def open_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Load one graph; a ModelError says what is wrong with the file."""
    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}; make it with `unrender export`")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a pattern for every new image size would never be forgotten
    options.add_session_config_entry(_SPINNING, "0")
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=_UNWANTED_FUSIONS
        )
    except _FAILURES as error:
        raise ModelError(_explain(path, str(error))) from error


def check_session(session: onnxruntime.InferenceSession, path: Path, inputs: Mapping[str, Shape]) -> None:
    """Raise a ModelError unless the graph takes exactly these inputs."""
    found = {value.name: list(value.shape) for value in session.get_inputs()}
    if set(found) != set(inputs):
        odd = sorted(set(found) ^ set(inputs))[0]
        has = "has an input" if odd in found else "lacks the input"
        raise ModelError(f"{path} {has} {odd!r}, so it does not belong to this config.json; export the model again")
    for name, wanted in inputs.items():
        if not _fits(found[name], wanted):
            raise ModelError(
                f"{path} takes {name} of shape {_text(found[name])}, but config.json asks for {_text(wanted)}; "
                "export the model again"
            )


def count_cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fits(found: Sequence[int | str | None], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        here == there for here, there in zip(found, wanted, strict=True) if isinstance(there, int)
    )


def _explain(path: Path, reason: str) -> str:
    """Turn ONNX Runtime's words into one sentence."""
    low = reason.lower()
    if any(sign in low for sign in _WITHOUT_DATA):
        return f"{path} needs the whole file {path.name}.data beside it; copy the model folder again"
    if any(sign in low for sign in _TOO_NEW):
        return (
            f"{path} needs a newer ONNX Runtime than {onnxruntime.__version__}; "
            "install one (pip install -U onnxruntime) or export the model again with this version"
        )
    if "protobuf" in low:
        return f"{path} is not an ONNX file, or is cut short; copy or export the model again"
    return f"{path} cannot be used by ONNX Runtime: {reason.strip().splitlines()[0]}"


def _text(shape: Sequence[int | str | None]) -> str:
    return " x ".join(str(length) for length in shape) or "one number"
