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
"""

from unrender.models.config import DecoderConfig, Generation, ImagePrep, SwinConfig, TextConfig

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
