"""Donut (seed 000): a page image to tagged text that reads as JSON.

| The paper's words                     | Here                                                         |
|---------------------------------------|--------------------------------------------------------------|
| Algorithm 1, SwinTransformer encoder  | `layers.swin.SwinEncoder`                                    |
| ImageToTensor                         | `images.pixels.prepare`                                      |
| PatchEmbedding (W_embed, P)           | `SwinEncoder.patches`, `.patch_norm`                         |
| DropPositional                        | nothing: Donut adds no position table and drops nothing here |
| LayerNorm, WindowBasedMSA (W, H), MLP | `layers.swin.SwinBlock`                                      |
| PatchMerging                          | `layers.swin.PatchMerging`, once after a stage's last block  |
| W_norm (omitted in Donut)             | `SwinConfig.final_norm = False`                              |
| Algorithm 2, BART-based decoder       | `layers.decoder.Decoder`                                     |
| W_e Y + W_p                           | `Decoder.embed`                                              |
| W_layer_norm                          | `Decoder.embedding_norm` and the norms of `DecoderLayer`     |
| MultiHeadAttention(Y, z)              | `DecoderLayer`: self-attention over Y, cross-attention to z  |
| W_lm_head, Softmax, ArgMax, Append    | `Decoder.score`, `decoding.search`                           |
| m, v, L, d                            | `max_positions`, `vocabulary`, `layers`, `hidden`            |

`donut_small` is Donut's way at a thousandth of its cost: the word reader's CNN over the whole picture, each cell of
16 x 8 pixels told by a small transformer over cells of 32 x 32 what stands far around it, and the word reader's
decoder. It writes characters, and each tag is one token. That it can begin with the word reader's weights is the point.
"""

from dataclasses import replace

from unrender.models.config import (
    CnnConfig,
    DecoderConfig,
    FieldRule,
    Generation,
    ImagePrep,
    SwinConfig,
    TextConfig,
)
from unrender.models.word import ALPHABET, word

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

DONUT_BASE = TextConfig(
    name="donut-base",
    seed="000",
    task="receipt",
    # Trained with ImageNet's mean and std; the converted folders say 0.5, and what a folder says is followed.
    image=ImagePrep(height=2560, width=1920, mean=IMAGENET_MEAN, std=IMAGENET_STD),
    encoder=SwinConfig(window=10, strict_size=True),
    decoder=DecoderConfig(vocabulary=57525, layers=4, max_positions=1536),
    generation=Generation(start=(0,), end=2, pad=1, max_tokens=1535, forbidden=(3,)),
    licence="MIT",
    published="naver-clova-ix/donut-base",
    parameters=201_852_024,
    notes=("a pre-trained start for fine-tuning; the prompt is the tag of the task, for example <s_cord-v2>",),
)

SEPARATOR = "<sep/>"
RECEIPT_FIELDS = ("company", "address", "date", "total")  # as they follow one another on most receipts
RECEIPT_RULES = (
    FieldRule(name="company", single=True, longest=80),  # a reading that goes on has lost its way
    FieldRule(name="address", single=True, longest=150),
    FieldRule(name="date", kind="date", single=True),
    FieldRule(name="total", kind="amount", single=True),
)
_HEIGHT, _WIDTH, _MULTIPLE, _MARGIN = 960, 480, 32, 8
_MAX_TOKENS = 400


def tags_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tokens that open and close fields of these names, and the one between the items of a list."""
    return (SEPARATOR, *(tag for name in names for tag in (f"<s_{name}>", f"</s_{name}>")))


SMALL_TOKENS = (*ALPHABET, "\n", *tags_of(RECEIPT_FIELDS))


def donut_small(vocabulary: int) -> TextConfig:
    """Return the configuration of a Donut that a processor trains, for receipts; first ids pad, start, end, unknown."""
    reader = word(vocabulary)
    assert isinstance(reader.encoder, CnnConfig)
    return replace(
        reader,
        name="donut-receipt",
        seed="000",
        task="receipt",
        image=replace(
            reader.image,
            height=_HEIGHT,
            width=_WIDTH,
            line_height=0,
            crop_margin=True,
            margin=_MARGIN,
            multiple=_MULTIPLE,
        ),
        encoder=replace(
            reader.encoder,
            strides=((2, 2), (2, 2), (2, 1), (2, 1), (1, 2)),
            feed_forward=2 * reader.encoder.hidden,
            position_2d=True,
            context=2,
        ),
        decoder=replace(reader.decoder, max_positions=_MAX_TOKENS + 1),
        generation=replace(reader.generation, max_tokens=_MAX_TOKENS, well_formed=True, repetition_guard=False),
        fields=RECEIPT_RULES,
        spelling=False,
    )
