"""What the child process costs: the same file opened in this process and in the warm child.

    python benchmarks/opening.py

Prints the median milliseconds of both ways, and how long the first file waits for the child to start.
"""

import io
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.images.drawing import open_file
from unrender.images.guard import Guard, Limits

EXAMPLE = Path(__file__).parent.parent / "examples" / "quadratic.png"
ROUNDS = 200


def main() -> None:
    """Measure a formula, a screenshot, a photo and a scan."""
    guard = Guard(Limits())
    started = time.perf_counter()
    guard.count(EXAMPLE.read_bytes(), "first")
    print(f"start of the child: {1000 * (time.perf_counter() - started):.0f} ms, once")
    for name, data in pictures().items():
        rounds = ROUNDS if len(data) < 1_000_000 else ROUNDS // 10
        here, there = compare(lambda data=data: draw_here(data), lambda data=data: draw_there(guard, data), rounds)
        print(f"{name:32} here {here:7.2f} ms, child {there:7.2f} ms, {there - here:+6.2f} ms")


def pictures() -> dict[str, bytes]:
    """Encode pictures of the usual sizes."""
    formula = Image.open(EXAMPLE).convert("L")
    screenshot = Image.new("RGB", (1920, 1080), "white")
    screenshot.paste(formula, (300, 300))
    noise = np.random.default_rng(0).integers(80, 200, (3000, 4000, 3), dtype=np.uint8)
    wide = Image.new("L", (600, 150), 255)
    wide.paste(formula, (100, 20))
    return {
        "formula 600 x 150 (PNG)": _encoded(wide, "PNG"),
        "screenshot 1920 x 1080 (PNG)": _encoded(screenshot, "PNG"),
        "photo of 12 megapixels (JPEG)": _encoded(Image.fromarray(noise), "JPEG"),
    }


def compare(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the median milliseconds of two ways, taken in turns so that both meet the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for way, seconds in zip((first, second), times, strict=True):
            started = time.perf_counter()
            way()
            seconds.append(1000 * (time.perf_counter() - started))
    return statistics.median(times[0]), statistics.median(times[1])


def draw_here(data: bytes) -> Image.Image:
    """Open and draw in this process."""
    return open_file(data, "here").page(0, 96, "here")


def draw_there(guard: Guard, data: bytes) -> Image.Image:
    """Open and draw in the child, as a file it has not seen."""
    for child in guard._idle:
        child.data = None
    guard.count(data, "there")
    return guard.draw(data, 0, 96, "there", lambda size: None)


def _encoded(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
