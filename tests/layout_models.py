"""Small layout models, tokenizers and pages that several tests share."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints.vocabulary import wordpiece
from unrender.engines.labelling import LabelTokenizer
from unrender.models.config import ImagePrep
from unrender.models.layoutlmv2 import LabelConfig, LayoutConfig, SmallCnnConfig
from unrender.reading.receipt.fields import LABELS

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:/-()&$"
VOCABULARY = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "total", "date", "cash", "##s"]


def tiny(max_positions: int = 64, stride: int = 8, **layout: object) -> LabelConfig:
    """A receipt reader so small that it computes at once."""
    settings: dict[str, object] = {
        "vocabulary": len(VOCABULARY), "hidden": 24, "layers": 1, "heads": 2, "feed_forward": 32,
        "max_positions": max_positions, "coordinate_width": 4, "visual": SmallCnnConfig(widths=(4, 8)), "dropout": 0.0,
    }  # fmt: skip
    return LabelConfig(
        name="tiny",
        task="receipt",
        image=ImagePrep(height=56, width=56, fit="squash", channels=1, mean=(1.0,), std=(-0.3,)),
        layout=LayoutConfig(**(settings | layout)),
        head="labels",
        labels=LABELS,
        stride=stride,
    )


def tokenizer(folder: Path, config: LabelConfig) -> LabelTokenizer:
    path = folder / "tokenizer.json"
    path.write_text(wordpiece(VOCABULARY))
    return LabelTokenizer(path, config)


def boxes(count: int) -> NDArray[np.int64]:
    """Boxes of words that stand one below the other."""
    top = np.arange(count) * 1000 // max(1, count)
    return np.stack([np.full(count, 100), top, np.full(count, 400), np.minimum(top + 8, 1000)], axis=1)
