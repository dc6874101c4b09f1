"""Cold starts: a fresh process loads a model and reads one picture; how long it takes and how much memory it needs."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from unrender.errors import ModelError

# VmHWM, not getrusage: that would begin with the memory of the process which started this one.
_FINISH = """
import json, time
from pathlib import Path
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(json.dumps([time.process_time(), peak]))
"""

OURS = (
    """
import sys
from pathlib import Path
import numpy as np
from unrender.engines.onnx_engine import OnnxEngine
from unrender.decoding import greedy
engine = OnnxEngine(Path(sys.argv[1]), threads=int(sys.argv[3]))
prompt = np.array([engine.config.generation.start])
greedy(engine.start(np.load(sys.argv[2])), prompt, end=-1, max_tokens=int(sys.argv[4]))
"""
    + _FINISH
)

OURS_WITH_TORCH = (
    """
import sys
import numpy as np
import torch
torch.set_num_threads(int(sys.argv[3]))
from unrender.checkpoints import load
from unrender.engines.torch_engine import open_engine
from unrender.decoding import greedy
engine = open_engine(load(sys.argv[1]), watch=1)
prompt = np.array([engine.config.generation.start])
greedy(engine.start(np.load(sys.argv[2])), prompt, end=-1, max_tokens=int(sys.argv[4]))
"""
    + _FINISH
)

TRANSFORMERS = (
    """
import sys
import numpy as np
import torch
torch.set_num_threads(int(sys.argv[3]))
from transformers import VisionEncoderDecoderModel
model = VisionEncoderDecoderModel.from_pretrained(sys.argv[1]).eval()
model.generation_config.eos_token_id = None
model.generate(torch.from_numpy(np.load(sys.argv[2])), max_new_tokens=int(sys.argv[4]), do_sample=False)
"""
    + _FINISH
)


@dataclass(frozen=True)
class Started:
    """One fresh process, from its start to its end."""

    seconds: float
    megabytes: float  # at most, of memory


def start_fresh(script: str, model: Path, pixels: Path, *, threads: int, tokens: int, cpu_time: bool) -> Started:
    """Run a script in a process of its own: it loads the model and reads the pixels of a .npy file."""
    command = [sys.executable, "-c", script, str(model), str(pixels), str(threads), str(tokens)]
    begin = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if ran.returncode:
        raise ModelError(f"the fresh process failed: {ran.stderr.strip().splitlines()[-1]}")
    used, kilobytes = json.loads(ran.stdout.strip().splitlines()[-1])
    return Started(used if cpu_time else seconds, kilobytes / 1024)
