"""The CNN encoder with self-attention decoder (seed 002): a word image to characters.

| The appendix's words                      | Here                                                              |
|-------------------------------------------|-------------------------------------------------------------------|
| CNN Encoder, feature sequence I           | `layers.cnn.CnnEncoder.features`                                  |
| position vector E, eq. 1                  | `layers.attention.sinusoids`                                      |
| fused feature F = E + I                   | `CnnEncoder.forward` with `position_2d = False`                   |
| Q, K, V, eq. 2                            | `SelfAttention.project`, `CrossAttention.project_query / _source` |
| Attention, eq. 3                          | torch's `scaled_dot_product_attention`                            |
| MultiHead with four heads, eq. 4          | `layers.attention.join_heads`, `output_projection = False`        |
| four decoder layers in series             | `layers.decoder.DecoderLayer`, `layers = 4`                       |
| Masked operation                          | `causal` in `SelfAttention.forward`                               |
| K and V computed from the fused feature F | `layers.attention.CrossAttention`                                 |
| feed-forward: two linear, one ReLU        | `layers.attention.FeedForward`                                    |
| add & norm                                | `pre_norm = False`                                                |
| classification module                     | `Decoder.scores`; the softmax is in `decoding`                    |

The appendix leaves open the width (512 here), the feed-forward width (four times that), the CNN (residual, stride 8
down and 4 across) and the alphabet (94 printable characters and four special tokens). Eq. 4 writes no output
projection; `replace(decoder, output_projection=True)` adds the usual one.
"""

from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig

RECOGNIZER = TextConfig(
    name="recognizer",
    seed="002",
    task="word",
    image=ImagePrep(
        height=32, width=512, fit="free", channels=1, mean=(0.5,), std=(0.5,), pad_value=1.0, multiple=8, line_height=32
    ),
    encoder=CnnConfig(widths=(64, 128, 256, 512), hidden=512, feed_forward=2048, position_2d=False),
    decoder=DecoderConfig(
        vocabulary=98,
        hidden=512,
        layers=4,
        heads=4,
        feed_forward=2048,
        max_positions=64,
        position_offset=0,
        positions="sinusoidal",
        activation="relu",
        pre_norm=False,
        final_norm=False,
        embedding_norm=False,
        tied=False,
        output_projection=False,
        memory_width=512,
    ),
    generation=Generation(start=(1,), end=2, pad=0, max_tokens=63, forbidden=(3,)),
    vocabulary="characters",
    parameters=25_839_360,
)
