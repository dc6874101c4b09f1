"""The word reader that ships: seed 002's decoder, as the seed writes it, behind a small residual CNN.

The pictures are one line high (32 pixels) and as wide as they are. The CNN brings the height down to one row and the
width to a quarter, so that every 4 pixels across are one vector of the feature sequence. `spelling` adds one linear
layer to it, which names the character at each vector (CTC): a second way to read, without the decoder's steps.
"""

from dataclasses import replace

from unrender.models.config import CnnConfig, ImagePrep, TextConfig
from unrender.models.recognizer import RECOGNIZER

HEIGHT, MAX_WIDTH = 32, 1024  # of the pictures that it is trained on
_PIECE = 384  # pixels: a longer line is read piece by piece
MAX_CHARACTERS = 160
_HIDDEN, _FEED_FORWARD = 192, 512
_WESTERN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿŒœŠšŽžŸÐðÞþ"
_SIGNS = "€£¥¢§°«»¡¿–—‘’“”„…•·™©®½¼¾²³¹µ±×÷ªº†¶"  # noqa: RUF001
ALPHABET = "".join(chr(code) for code in range(32, 127)) + _WESTERN + _SIGNS


def word(vocabulary: int) -> TextConfig:
    """Return the configuration for a vocabulary whose first ids are pad, start, end, unknown."""
    return replace(
        RECOGNIZER,
        name="word",
        image=ImagePrep(
            height=HEIGHT,
            width=_PIECE,
            fit="free",
            channels=1,
            mean=(0.5,),
            std=(0.5,),
            pad_value=1.0,
            multiple=4,
            line_height=HEIGHT,
            contrast=True,
        ),
        encoder=CnnConfig(
            widths=(16, 32, 64, 128, 192),
            blocks=(1, 1, 1, 1, 1),
            strides=((2, 2), (2, 2), (2, 1), (2, 1), (2, 1)),
            hidden=_HIDDEN,
            dropout=0.0,
            position_2d=False,
        ),
        decoder=replace(
            RECOGNIZER.decoder,
            vocabulary=vocabulary,
            hidden=_HIDDEN,
            feed_forward=_FEED_FORWARD,
            memory_width=_HIDDEN,
            max_positions=MAX_CHARACTERS + 1,
            dropout=0.0,
        ),
        generation=replace(RECOGNIZER.generation, max_tokens=MAX_CHARACTERS, repetition_guard=True),
        spelling=True,
        parameters=0,
    )
