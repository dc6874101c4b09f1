"""The names under which weights are published, written out from the architectures, with the shapes they have.

Each function lists one spelling of one half of a model, as `reference` lists of published files do; the tests hold
our renaming against it.
"""

from unrender.models.config import DecoderConfig, SwinConfig, ViTConfig

Shapes = dict[str, tuple[int, ...]]


def decoder(config: DecoderConfig, prefix: str, head: str = "", final_norm: str = "layer_norm") -> Shapes:
    """mBART's and TrOCR's decoder; transformers and fairseq differ in the prefix only."""
    width, inner = config.hidden, config.feed_forward
    shapes: Shapes = {
        f"{prefix}embed_tokens.weight": (config.vocabulary, width),
        f"{prefix}embed_positions.weight": (config.max_positions + 2, width),
    }
    if config.embedding_norm:
        shapes |= _pair(f"{prefix}layernorm_embedding", width)
    for layer in range(config.layers):
        name = f"{prefix}layers.{layer}"
        for attention, source in (("self_attn", width), ("encoder_attn", config.memory_width)):
            for projection in ("k_proj", "v_proj"):
                shapes |= _linear(f"{name}.{attention}.{projection}", source, width)
            for projection in ("q_proj", "out_proj"):
                shapes |= _linear(f"{name}.{attention}.{projection}", width, width)
            shapes |= _pair(f"{name}.{attention}_layer_norm", width)
        shapes |= _linear(f"{name}.fc1", width, inner) | _linear(f"{name}.fc2", inner, width)
        shapes |= _pair(f"{name}.final_layer_norm", width)
    if config.final_norm:
        shapes |= _pair(f"{prefix}{final_norm}", width)
    return shapes | ({head: (config.vocabulary, width)} if head else {})


def swin(config: SwinConfig, prefix: str, *, version: int = 4, index: bool = True) -> Shapes:
    """Swin in transformers 4 and 5; DonutSwin keeps the names of 4 in both."""
    attention = (
        {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
         "out": "attention.output.dense", "expand": "intermediate.dense", "contract": "output.dense",
         "table": "attention.self.relative_position_bias_table"}
        if version == 4
        else {"query": "attention.q_proj", "key": "attention.k_proj", "value": "attention.v_proj",
              "out": "attention.o_proj", "expand": "mlp.fc1", "contract": "mlp.fc2",
              "table": "attention.relative_position_bias.relative_position_bias_table"}
    )  # fmt: skip
    shapes = _convolution(
        f"{prefix}embeddings.patch_embeddings.projection", config.channels, config.width, config.patch
    )
    shapes |= _pair(f"{prefix}embeddings.norm", config.width)
    for stage, block, width, heads in _blocks(config):
        name = f"{prefix}encoder.layers.{stage}.blocks.{block}."
        shapes |= _pair(f"{name}layernorm_before", width) | _pair(f"{name}layernorm_after", width)
        for part in ("query", "key", "value", "out"):
            shapes |= _linear(name + attention[part], width, width)
        shapes[name + attention["table"]] = ((2 * config.window - 1) ** 2, heads)
        if index:
            shapes[f"{name}attention.self.relative_position_index"] = (config.window**2, config.window**2)
        inner = int(width * config.mlp_ratio)
        shapes |= _linear(name + attention["expand"], width, inner)
        shapes |= _linear(name + attention["contract"], inner, width)
    shapes |= _merging(config, f"{prefix}encoder.layers.{{}}.downsample", late=False)
    return shapes | (_pair(f"{prefix}layernorm", config.out_width) if config.final_norm else {})


def swin_of_timm(config: SwinConfig, prefix: str, *, late: bool) -> Shapes:
    """Swin in timm, inside the original Donut and Nougat; since 0.9 merging is filed under the later stage."""
    shapes = _convolution(f"{prefix}patch_embed.proj", config.channels, config.width, config.patch)
    shapes |= _pair(f"{prefix}patch_embed.norm", config.width)
    for stage, block, width, heads in _blocks(config):
        name = f"{prefix}layers.{stage}.blocks.{block}."
        shapes |= _pair(f"{name}norm1", width) | _pair(f"{name}norm2", width)
        shapes |= _linear(f"{name}attn.qkv", width, 3 * width) | _linear(f"{name}attn.proj", width, width)
        shapes[f"{name}attn.relative_position_bias_table"] = ((2 * config.window - 1) ** 2, heads)
        shapes[f"{name}attn.relative_position_index"] = (config.window**2, config.window**2)
        if block % 2:
            shapes[f"{name}attn_mask"] = (4, config.window**2, config.window**2)
        inner = int(width * config.mlp_ratio)
        shapes |= _linear(f"{name}mlp.fc1", width, inner) | _linear(f"{name}mlp.fc2", inner, width)
    return shapes | _merging(config, f"{prefix}layers.{{}}.downsample", late=late)


def vit(config: ViTConfig, *, version: int = 4) -> Shapes:
    """ViT and DeiT in transformers 4 and 5."""
    width = config.hidden
    shapes: Shapes = {"encoder.embeddings.cls_token": (1, 1, width)}
    if config.distilled:
        shapes["encoder.embeddings.distillation_token"] = (1, 1, width)
    shapes["encoder.embeddings.position_embeddings"] = _positions(config)
    shapes |= _convolution("encoder.embeddings.patch_embeddings.projection", config.channels, width, config.patch)
    for layer in range(config.layers):
        old = version == 4
        name = f"encoder.encoder.layer.{layer}." if old else f"encoder.layers.{layer}."
        parts = ("attention.query", "attention.key", "attention.value") if old else ("q_proj", "k_proj", "v_proj")
        for part in parts:
            shapes |= _linear(f"{name}attention.{part}", width, width, bias=config.qkv_bias)
        shapes |= _linear(f"{name}attention.{'output.dense' if old else 'o_proj'}", width, width)
        shapes |= _linear(f"{name}{'intermediate.dense' if old else 'mlp.fc1'}", width, config.feed_forward)
        shapes |= _linear(f"{name}{'output.dense' if old else 'mlp.fc2'}", config.feed_forward, width)
        shapes |= _pair(f"{name}layernorm_before", width) | _pair(f"{name}layernorm_after", width)
    shapes |= _pair("encoder.layernorm", width)
    return shapes | (_linear("encoder.pooler.dense", width, width) if config.pooler else {})


def vit_of_fairseq(config: ViTConfig) -> Shapes:
    """The timm names inside fairseq's TrOCR, with the image classifier it carries along."""
    width, prefix = config.hidden, "encoder.deit."
    shapes: Shapes = {f"{prefix}cls_token": (1, 1, width), f"{prefix}pos_embed": _positions(config)}
    if config.distilled:
        shapes[f"{prefix}dist_token"] = (1, 1, width)
    shapes |= _convolution(f"{prefix}patch_embed.proj", config.channels, width, config.patch)
    for layer in range(config.layers):
        name = f"{prefix}blocks.{layer}."
        shapes |= _linear(f"{name}attn.qkv", width, 3 * width, bias=config.qkv_bias)
        shapes |= _linear(f"{name}attn.proj", width, width)
        shapes |= _linear(f"{name}mlp.fc1", width, config.feed_forward)
        shapes |= _linear(f"{name}mlp.fc2", config.feed_forward, width)
        shapes |= _pair(f"{name}norm1", width) | _pair(f"{name}norm2", width)
    return shapes | _pair(f"{prefix}norm", width) | _linear(f"{prefix}head", width, 1000)


def _blocks(config: SwinConfig) -> list[tuple[int, int, int, int]]:
    return [
        (stage, block, config.width * 2**stage, heads)
        for stage, (depth, heads) in enumerate(zip(config.depths, config.heads, strict=True))
        for block in range(depth)
    ]


def _merging(config: SwinConfig, name: str, *, late: bool) -> Shapes:
    shapes: Shapes = {}
    for stage in range(len(config.depths) - 1):
        width = config.width * 2**stage
        place = name.format(stage + 1 if late else stage)
        shapes |= _linear(f"{place}.reduction", 4 * width, 2 * width, bias=False) | _pair(f"{place}.norm", 4 * width)
    return shapes


def _positions(config: ViTConfig) -> tuple[int, ...]:
    patches = (config.height // config.patch) * (config.width // config.patch)
    return (1, patches + (2 if config.distilled else 1), config.hidden)


def _convolution(name: str, inputs: int, outputs: int, side: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs, side, side), f"{name}.bias": (outputs,)}


def _linear(name: str, inputs: int, outputs: int, *, bias: bool = True) -> Shapes:
    return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})


def _pair(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
