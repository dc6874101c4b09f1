"""The formula reader that ships: a residual CNN with transformer layers, and a small decoder over LaTeX tokens.

| the words of seed 004 | here |
|---|---|
| encoder that keeps where symbols stand | `CnnConfig`: stride 8, aspect kept, positions over rows and columns |
| decoder | `DecoderConfig`: pre-norm, tied scores, one token a LaTeX "word" |
| beam search of 4 | `Generation.beams` |
"""

from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig

MAX_HEIGHT, MAX_WIDTH = 256, 1024
_MAX_TOKENS = 256
SYMBOLS = (7.5, 12.5, 20.0)  # what is below or above is brought to the middle; see docs/formula.md

ENCODER = CnnConfig(
    widths=(32, 64, 128),
    blocks=(1, 2, 3),
    strides=((2, 2), (2, 2), (2, 2)),
    hidden=256,
    layers=2,
    heads=8,
    feed_forward=512,
    dropout=0.0,
)


def formula(vocabulary: int) -> TextConfig:
    """Return the configuration for a vocabulary whose first ids are pad, start, end, unknown."""
    return TextConfig(
        name="formula",
        seed="004",
        task="formula",
        image=ImagePrep(
            height=MAX_HEIGHT,
            width=MAX_WIDTH,
            fit="free",
            channels=1,
            mean=(1.0,),
            std=(0.3,),
            resample="lanczos",
            crop_margin=True,
            margin=4,
            pad_value=1.0,
            multiple=8,
            symbols=SYMBOLS,
            zoom=1.25,  # symbols in scripts are few pixels high otherwise
        ),
        encoder=ENCODER,
        decoder=DecoderConfig(
            vocabulary=vocabulary,
            hidden=256,
            layers=3,
            heads=8,
            feed_forward=1024,
            max_positions=_MAX_TOKENS,
            position_offset=0,
            positions="sinusoidal",
            activation="relu",
            embedding_norm=False,
            dropout=0.0,  # hardly any sample is seen twice
            memory_width=256,
        ),
        generation=Generation(
            start=(1,),
            end=2,
            pad=0,
            max_tokens=_MAX_TOKENS,
            beams=4,
            length_penalty=1.2,  # a reading that skips a part looks likelier than it is
            well_formed=True,
            far_looks=(0.5, 0.65, 0.8, 1.5, 1.9),
            lost=0.7,
            second_looks=(0.9, 1.07, 1.15, 1.3),
            greedy_first=True,
            doubtful=0.5,
            sure=0.95,
            unlikely=0.65,
            rows=True,
        ),
        vocabulary="latex",
    )
