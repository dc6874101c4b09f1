"""What a caller asks for: which source, and how to read it."""

from dataclasses import dataclass
from pathlib import Path

from unrender.errors import ConfigError
from unrender.images.opening import Source
from unrender.words import WordPage


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller may choose for a read; None leaves it to the model."""

    beams: int | None = None
    max_tokens: int | None = None
    n_best: int = 1
    question: str = ""  # for tasks whose prompt asks one
    words: str | Path | None = None  # a JSON, hOCR or ALTO file with the words, for models that label them
    calibrated: bool = True  # False: confidences as the model itself gives them

    def __post_init__(self) -> None:
        for name in ("beams", "max_tokens", "n_best"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")


DEFAULTS = Options()


@dataclass(frozen=True)
class Input:
    """A source with the name it goes by, the pages wanted (from 1; none given: all) and its words where known."""

    source: Source
    name: str = ""
    pages: tuple[int, ...] = ()
    words: WordPage | None = None  # for models that label them; of a source with one page
    place: str = ""  # its path below the folder it was found in
