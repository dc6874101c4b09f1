"""SwimNet (seed 004): an image of a formula to LaTeX, by a Swin encoder and TrOCR's decoder.

| The paper's words                              | Here                                                    |
|------------------------------------------------|---------------------------------------------------------|
| Swin encoder, swin-small-patch4-window7-224    | `layers.swin.SwinEncoder`, `SwinConfig(depths=...)`     |
| self-attention on different size windows       | `layers.swin.SwinBlock`, `PatchMerging`                 |
| decoder of trocr-base-handwritten              | `models.trocr.TROCR_DECODER`                            |
| the two joined                                 | 96 x 8 = 768 is the decoder's `memory_width`: no bridge |
| beam search, beam size 4                       | `decoding.search`                                       |
| word error rate                                | `metrics`                                               |
| masked language modelling loss (cross-entropy) | `training`                                              |
"""

from unrender.models.config import Generation, ImagePrep, SwinConfig, TextConfig
from unrender.models.donut import IMAGENET_MEAN, IMAGENET_STD
from unrender.models.trocr import TROCR_DECODER

SWIN_SMALL = SwinConfig(width=96, depths=(2, 2, 18, 2), heads=(3, 6, 12, 24), window=7, final_norm=True)

SWIMNET = TextConfig(
    name="swimnet",
    seed="004",
    task="formula",
    image=ImagePrep(height=224, width=224, fit="squash", mean=IMAGENET_MEAN, std=IMAGENET_STD, resample="bicubic"),
    encoder=SWIN_SMALL,
    decoder=TROCR_DECODER,
    generation=Generation(start=(2,), end=2, pad=1, max_tokens=511, beams=4),
    licence="MIT",
    published="microsoft/swin-small-patch4-window7-224 + microsoft/trocr-base-handwritten",
    parameters=296_105_610,
    notes=("the paper's fine-tuned weights were not published; these are the two parts it starts from",),
)
