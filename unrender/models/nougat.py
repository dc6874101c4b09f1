"""Nougat (seed 001): a page of a paper to Markdown.

| The paper's words                               | Here                                                        |
|-------------------------------------------------|-------------------------------------------------------------|
| 96 DPI                                          | `ImagePrep.dpi`                                             |
| (H, W) = (896, 672), resized and then padded    | `ImagePrep(height=896, width=672)`, `images.pixels.prepare` |
| Swin base, initialised from pre-trained weights | `layers.swin.SwinEncoder`, `checkpoints.convert`            |
| restrictive possible input dimensions           | `SwinConfig.size_multiple` = 224, `check_size`              |
| BART decoder, 10 layers ("decoder-only")        | `layers.decoder.Decoder`, which does cross-attend           |
| maximal sequence length S = 4096 (small: 3584)  | `DecoderConfig.max_positions`                               |
| smaller model, 4 layers, starts from the base   | `NOUGAT_SMALL`                                              |
| greedy decoding                                 | `decoding.search`, `Generation.beams = 1`                   |
| collapse into a repeating loop (section 5.4)    | `decoding.rules.Guard`, `Generation.repetition_guard`  |
| 5e-5, x 0.9996 every 15 updates, until 7.5e-6   | `training.recipes`                                           |
"""

from dataclasses import replace

from unrender.models.config import DecoderConfig, Generation, ImagePrep, SwinConfig, TextConfig
from unrender.models.donut import IMAGENET_MEAN, IMAGENET_STD

NOUGAT_BASE = TextConfig(
    name="nougat-base",
    seed="001",
    task="page",
    image=ImagePrep(height=896, width=672, mean=IMAGENET_MEAN, std=IMAGENET_STD, crop_margin=True, dpi=96),
    encoder=SwinConfig(window=7, strict_size=True),
    decoder=DecoderConfig(vocabulary=50000, layers=10, max_positions=4096, tied=False),
    generation=Generation(start=(0,), end=2, pad=1, max_tokens=4095, forbidden=(3,), repetition_guard=True),
    licence="CC-BY-NC-4.0",
    published="facebook/nougat-base",
    parameters=348_687_992,
    notes=("the published weights may not be used commercially",),
)

NOUGAT_SMALL = replace(
    NOUGAT_BASE,
    name="nougat-small",
    decoder=replace(NOUGAT_BASE.decoder, layers=4, max_positions=3584),
    generation=replace(NOUGAT_BASE.generation, max_tokens=3583),
    published="facebook/nougat-small",
    parameters=247_383_672,
)
