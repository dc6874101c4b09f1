"""TrOCR (seed 004's baselines): a line of handwriting to text, fine-tuned there to LaTeX.

| The paper's words                                 | Here                                            |
|---------------------------------------------------|-------------------------------------------------|
| ViT-style encoder                                 | `layers.swin.ViTEncoder`                        |
| DeiT encoder (small)                              | the same with `distilled = True`                |
| TrOCR's decoder, pre-trained on IAM               | `layers.decoder.Decoder`, `TROCR_DECODER`       |
| positional encoder, masked MSA, multi-head, norms | `Decoder.embed`, `DecoderLayer`                 |
| <s>, </s>, <unk>, <pad>                           | `Generation`; both ends of a text are </s> here |
| beam search, beam size 4                          | `decoding.search`, `Generation.beams = 4`       |
"""

from unrender.models.config import DecoderConfig, Generation, ImagePrep, TextConfig, ViTConfig

TROCR_DECODER = DecoderConfig(
    vocabulary=50265,
    layers=12,
    max_positions=512,
    pre_norm=False,
    final_norm=False,
    scale_embedding=False,
    memory_width=768,
)

TROCR_BASE = TextConfig(
    name="trocr-base",
    seed="004",
    task="line",
    image=ImagePrep(height=384, width=384, fit="squash"),
    encoder=ViTConfig(),
    decoder=TROCR_DECODER,
    generation=Generation(start=(2,), end=2, pad=1, max_tokens=511, beams=4),
    licence="MIT",
    published="microsoft/trocr-base-handwritten",
    parameters=333_331_200,
)

TROCR_SMALL = TextConfig(
    name="trocr-small",
    seed="004",
    task="line",
    image=ImagePrep(height=384, width=384, fit="squash"),
    encoder=ViTConfig(hidden=384, heads=6, feed_forward=1536, qkv_bias=True, distilled=True, pooler=True),
    decoder=DecoderConfig(
        vocabulary=64044,
        hidden=256,
        layers=6,
        heads=8,
        feed_forward=1024,
        max_positions=512,
        activation="relu",
        pre_norm=False,
        final_norm=False,
        tied=False,
        memory_width=384,
    ),
    generation=Generation(start=(2,), end=2, pad=1, max_tokens=511, beams=4),
    licence="MIT",
    published="microsoft/trocr-small-handwritten",
    parameters=61_596_672,
)
