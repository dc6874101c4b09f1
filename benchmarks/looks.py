"""What second looks cost: the six examples and a formula of 60 tokens, by policy, in one run.

    python benchmarks/looks.py [ROUNDS]

Prints the processor seconds of one reading, the best of ROUNDS, on one thread: one greedy look; what the shipped model
does (again where a token is in doubt); and what it did before (again below a mean probability of 0.95, beam 4 always).
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.models.config import Generation
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.typesetting import Style
from unrender.typesetting.pictures import typeset

EXAMPLES = Path(__file__).parent.parent / "examples"
SIXTY = (
    r"f ( x ) = \frac { a _ { 0 } } { 2 } + \sum _ { n = 1 } ^ { \infty } "
    r"( a _ { n } \cos n x + b _ { n } \sin n x ) , \quad g ( y ) = y ^ { 2 }"
)


def policies(usual: Generation) -> dict[str, Generation]:
    """Return the ways of looking that are compared."""
    return {
        "one look": replace(usual, second_looks=(), far_looks=()),
        "shipped": usual,
        "before": replace(usual, greedy_first=False, doubtful=1.0, lost=0.75),
    }


def main(rounds: int) -> None:
    """Read and print."""
    [drawn] = typeset([SIXTY], Style())
    assert drawn is not None
    pictures = {path.stem: Image.open(path) for path in sorted(EXAMPLES.glob("*.png"))}
    pictures["sixty tokens"] = Image.fromarray(np.pad(drawn, 10, constant_values=255))
    system = Reader.open("formula", threads=1).system
    assert isinstance(system, TextSystem)
    ways = policies(system.config.generation)
    readers = {
        name: Reader(replace(system, config=replace(system.config, generation=way))) for name, way in ways.items()
    }
    print(f"{'':14}", *(f"{name:>9}" for name in readers))
    for picture, image in pictures.items():
        print(f"{picture:14}", *(f"{_seconds(reader, image, rounds):9.3f}" for reader in readers.values()))


def _seconds(reader: Reader, image: Image.Image, rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        reader.read(image)
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
