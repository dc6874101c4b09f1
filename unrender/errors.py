"""Every error a user can cause: one sentence each on what is wrong and what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class UnrenderError(Exception):
    """Something the user can put right; its text is shown as it is, without a traceback."""


class ConfigError(UnrenderError):
    """A setting or a combination of settings that cannot work."""


class ImageError(UnrenderError):
    """A file or page that cannot be opened as an image."""


class ModelError(UnrenderError):
    """A model name, model folder or weight file that cannot be used."""


class NotationError(UnrenderError):
    """Text that cannot be parsed as, or written in, the notation asked for."""


class DataError(UnrenderError):
    """A dataset, label or caption file that cannot be used."""


class MissingExtraError(UnrenderError):
    """A capability whose optional dependency is not installed."""


class LatexError(UnrenderError):
    """LaTeX that cannot be parsed; `position` is the offset of the offending character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position})")
        self.position = position


def suggest(name: str, names: Iterable[str], *, most: int = 1) -> str:
    """End a sentence about an unknown name: with known ones that come near, or with all of them."""
    known = list(names)
    near = get_close_matches(name, known, n=most)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}."
