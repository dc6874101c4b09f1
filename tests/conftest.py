"""Fixtures that several test files share; everything is made on the spot, nothing is downloaded."""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from PIL import Image, ImageDraw

from unrender import checkpoints
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig
from unrender.tokens import LatexTokenizer

# The same cases in every run: what `make test` says depends on the code alone. `make fuzz` looks for new ones.
settings.register_profile("unrender", derandomize=True, database=None, deadline=None)
settings.load_profile("unrender")


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("Error: ")]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the command line in this process, as the shell would."""
    from unrender.cli import main

    def command(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(int(exit.value.code or 0), captured.out, captured.err)

    return command


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A picture with a black bar."""
    path = tmp_path / "good.png"
    image = Image.new("L", (80, 40), 255)
    ImageDraw.Draw(image).rectangle((10, 10, 59, 24), fill=0)
    image.save(path)
    return path


TINY_TOKENS = tuple("abcdxyz0123456789+-=")  # well-formed LaTeX in any order


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with a formula reader so small, and so untrained, that it reads anything as noise, fast."""
    import torch

    from unrender.layers.seq2seq import VisionText

    tokenizer = LatexTokenizer(TINY_TOKENS)
    config = TextConfig(
        name="tiny",
        seed="002",
        task="formula",
        image=ImagePrep(
            height=32, width=128, fit="free", channels=1, mean=(0.5,), std=(0.5,), crop_margin=True, pad_value=1.0,
            multiple=4,
        ),
        encoder=CnnConfig(widths=(4, 8), blocks=(1, 1), strides=((2, 2), (2, 2)), hidden=16, heads=2, feed_forward=32),
        decoder=DecoderConfig(
            vocabulary=tokenizer.size, hidden=16, layers=1, heads=2, feed_forward=32, max_positions=16,
            position_offset=0, memory_width=16, tied=False,
        ),
        generation=Generation(start=(1,), end=2, pad=0, max_tokens=8, forbidden=(0, 1, 3)),
        vocabulary="latex",
    )  # fmt: skip
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(3))
    folder = tmp_path_factory.mktemp("models") / "tiny"
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    tokenizer_file = folder.parent / "tokenizer.json"
    tokenizer.save(tokenizer_file)
    return checkpoints.save(folder, config, weights, tokenizer_file)


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    """Write small PDFs, each page with one black square."""

    def write(
        pages: int = 1,
        width_points: int = 72,
        height_points: int = 72,
        first_page_points: int = 0,
        encrypt: bytes = b"",
    ) -> bytes:
        content = b"0 0 0 rg 10 10 20 20 re f"
        kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(pages))
        objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode()]
        for number in range(pages):
            width, height = width_points, height_points
            if first_page_points and number == 0:
                width = height = first_page_points
            box = f"[0 0 {width} {height}]"
            objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents {4 + 2 * number} 0 R >>".encode())
            objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        return _assemble(objects, encrypt)

    return write


@pytest.fixture
def make_png_header() -> Callable[[int, int], bytes]:
    """Write a PNG that claims a size it does not carry."""

    def write(width: int, height: int) -> bytes:
        header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(b"\0" * 64))

    return write


def _assemble(objects: list[bytes], encrypt: bytes) -> bytes:
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    protection = b"/Encrypt << %s >> /ID [<00> <00>]" % encrypt if encrypt else b""
    trailer = b"trailer << /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, protection)
    trailer += b"startxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
