"""Words and lines: our reader beside Tesseract 5 and RapidOCR, on the same held-out crops, in one run.

    python benchmarks/words.py make FOLDER RAW     cut the held-out crops out of the raw sets, and draw some
    python benchmarks/words.py read FOLDER [MODEL] [LIMIT]    read them with everything that is installed
    python benchmarks/words.py cost FOLDER [MODEL] [LIMIT]    memory and size, each reader in a process of its own

FOLDER then holds one folder of pictures with labels.tsv for each set, which `unrender evaluate word` reads too, and a
labels.tsv of all sets together, for `unrender calibrate word FOLDER`.
"""

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from unrender import metrics
from unrender.checkpoints import resolve
from unrender.reading.reader import Reader
from unrender.reading.systems import Options

SETS = {"receipts": "receipt", "scenes": "scene", "typewritten": "typed", "handwritten": "hand"}
MOST, SEED = 400, 0
Read = Callable[[Sequence[Image.Image]], list[str]]


def cer_caseless(truths: Sequence[str], texts: Sequence[str]) -> metrics.Measure:
    """The character error rate with capitals and small letters as one: the labels of SROIE are all capitals."""
    return metrics.cer([truth.upper() for truth in truths], [text.upper() for text in texts])


MEASURES = (metrics.exact, metrics.accuracy_folded, metrics.cer, cer_caseless)


def make(folder: Path, raw: Path) -> None:
    from unrender.training.word.corpora import real_crops

    for name, kind in SETS.items():
        held = [crop for crop in real_crops(kind, raw) if crop.held and crop.text]
        chosen = np.random.default_rng(SEED).permutation(len(held))[:MOST]
        save(folder / name, [(held[index].image, held[index].text) for index in sorted(chosen)])
    save(folder / "people", drawn(raw))
    named = (
        (name, line) for name in (*SETS, "people") for line in (folder / name / "labels.tsv").open(encoding="utf-8")
    )
    (folder / "labels.tsv").write_text("".join(f"{name}/{line}" for name, line in named), encoding="utf-8")


def drawn(raw: Path) -> list[tuple[Image.Image, str]]:
    """Draw words and lines as people have them: screenshots, dark mode, photos; fonts that were never trained on."""
    from unrender.training.word.camera import Camera
    from unrender.training.word.lettering import draw_text, find_fonts
    from unrender.training.word.wording import read_texts

    rng, found = np.random.default_rng(77), []
    texts, fonts = read_texts(raw, ["TOTAL 12.00"], ["Été à la mer"]), find_fonts(held_out=True)
    photo = Camera(stretch=0.3, tilt=0.7, ground=0.8, blur=0.6, noise=0.7, packed=0.6, coarse=0.3)
    while len(found) < MOST:
        text = texts.word(rng) if len(found) % 2 else texts.line(rng, 40)
        font = fonts[int(rng.integers(len(fonts)))]
        picture = draw_text(text, font, rng) if text and font.writes(text) else None
        if picture is None:
            continue
        gray = picture.gray
        match len(found) // 2 % 4:
            case 1:
                gray = 255 - gray  # dark mode
            case 2:
                gray = photo(gray, np.zeros((0, 4), np.float32), rng, float(rng.random()))[0]
            case 3:
                gray = np.pad(gray, ((24, 30), (40, 60)), constant_values=255)  # a screenshot with room around
        found.append((Image.fromarray(gray), text))
    return found


def save(folder: Path, pairs: Sequence[tuple[Image.Image, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (image, text) in enumerate(pairs):
        image.convert("RGB").save(folder / f"{number:04}.png")
        lines.append(f"{number:04}.png\t{text}\n")
    (folder / "labels.tsv").write_text("".join(lines), encoding="utf-8")


def load(folder: Path, limit: int) -> tuple[list[Image.Image], list[str]]:
    rows = [line.split("\t", 1) for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()]
    return [Image.open(folder / name).convert("RGB") for name, _ in rows[:limit]], [text for _, text in rows[:limit]]


def ours(model: str, *, fast: bool) -> Read:
    reader = Reader.open(model, task="line", threads=1)

    def read(images: Sequence[Image.Image]) -> list[str]:
        return [found.text for found in reader.read_many(images, batch=8, options=Options(fast=fast))]

    return read


def tesseract(images: Sequence[Image.Image]) -> list[str]:
    texts = []
    for image in images:
        image.save("/tmp/unrender-word.png")
        command = ["tesseract", "/tmp/unrender-word.png", "-", "--psm", "7", "-l", "eng"]
        done = subprocess.run(command, capture_output=True, check=False, env={"OMP_THREAD_LIMIT": "1"})
        texts.append(" ".join(done.stdout.decode(errors="replace").split()))
    return texts


def rapid() -> Read:
    from rapidocr import RapidOCR

    engine = RapidOCR(
        params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1}
    )  # fmt: skip

    def read(images: Sequence[Image.Image]) -> list[str]:
        texts = []
        for image in images:
            found = engine(np.asarray(image)[:, :, ::-1].copy(), use_det=False, use_cls=False, use_rec=True)
            texts.append(" ".join(found.txts or ()))
        return texts

    return read


def spent() -> float:
    """Return the seconds of processor time used so far, by this process and by those it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def readers_of(model: str) -> dict[str, Callable[[], Read]]:
    return {
        "unrender word": lambda: ours(model, fast=False),
        "unrender word --fast": lambda: ours(model, fast=True),
        "Tesseract 5": lambda: tesseract,
        "RapidOCR": rapid,
    }


def cost(folder: Path, model: str, limit: int) -> None:
    """Say what each reader takes: a process that reads some crops of every set with it and nothing else."""
    sizes = {"unrender word": _size_ours(model), "unrender word --fast": _size_ours(model),
             "Tesseract 5": _size_tesseract(), "RapidOCR": _size_rapid()}  # fmt: skip
    print("| reader | megabytes of memory at most | megabytes on disk |\n|---|---|---|")
    for name, size in sizes.items():
        command = [sys.executable, __file__, "peak", name, str(folder), model, str(limit)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        print(f"| {name} | {done.stdout.strip()} | {size / 1e6:.1f} |", flush=True)


def peak(name: str, folder: Path, model: str, limit: int) -> None:
    """Print the most memory that one reader took, in megabytes: this process's, or that of the program it runs."""
    read = readers_of(model)[name]()
    for path in sorted(path for path in folder.iterdir() if (path / "labels.tsv").exists()):
        read(load(path, limit)[0])
    whose = resource.RUSAGE_CHILDREN if name.startswith("Tesseract") else resource.RUSAGE_SELF
    print(f"{resource.getrusage(whose).ru_maxrss / 1024:.0f}")


def _size_ours(model: str) -> int:
    """Return the bytes of the graphs, the characters and the settings."""
    return sum(path.stat().st_size for path in resolve(model).iterdir() if path.suffix in (".onnx", ".json"))


def _size_rapid() -> int:
    """Return the bytes of the weights that RapidOCR reads with by default: detector, direction, recogniser."""
    import rapidocr

    return sum(path.stat().st_size for path in (Path(rapidocr.__file__).parent / "models").rglob("*.onnx"))


def _size_tesseract() -> int:
    """Return the bytes of the program, its library and its English model."""
    program = shutil.which("tesseract") or "tesseract"
    linked = subprocess.run(["ldd", program], capture_output=True, check=False, text=True).stdout
    libraries = [Path(word) for word in linked.split() if "libtesseract" in word and word.startswith("/")]
    english = sorted(Path("/usr/share/tesseract-ocr").rglob("eng.traineddata"))
    return sum(path.resolve().stat().st_size for path in (Path(program), *libraries[:1], *english[:1]))


def measure(folder: Path, model: str, limit: int) -> None:
    print("| reader | set | accuracy | folded | cer | cer, case ignored | ms a crop | n |")
    print("|---|---|---|---|---|---|---|---|")
    for name, open_reader in readers_of(model).items():
        read = open_reader()
        for path in sorted(path for path in folder.iterdir() if (path / "labels.tsv").exists()):
            images, truths = load(path, limit)
            read(images[:2])
            began = spent()
            texts = read(images)
            seconds = spent() - began
            found = [measured(truths, texts).value for measured in MEASURES]
            shown = " | ".join(f"{value:.3f}" for value in found)
            print(
                f"| {name} | {path.name} | {shown} | {1000 * seconds / len(images):.1f} | {len(images)} |", flush=True
            )
    print()
    cost(folder, model, limit)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder, raw]:
            make(Path(folder), Path(raw))
        case ["read", folder, *rest]:
            measure(Path(folder), rest[0] if rest else "word", int(rest[1]) if len(rest) > 1 else MOST)
        case ["cost", folder, *rest]:
            cost(Path(folder), rest[0] if rest else "word", int(rest[1]) if len(rest) > 1 else MOST)
        case ["peak", name, folder, model, limit]:
            peak(name, Path(folder), model, int(limit))
        case _:
            sys.exit(__doc__)
