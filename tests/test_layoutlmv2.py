"""LayoutLMv2 against transformers' own modules, and the seed's claims about its parts."""

import json
from dataclasses import replace

import layout_oracle
import numpy as np
import pytest
import torch
from torch import nn
from transformers.models.layoutlmv2.modeling_layoutlmv2 import relative_position_bucket

from unrender.checkpoints import convert
from unrender.checkpoints.fitting import assemble, plan, state
from unrender.checkpoints.layoutlmv2 import from_bert, rename
from unrender.errors import ConfigError, ModelError
from unrender.layers.spatial import LabelInputs, LabelModel, SpatialBias, buckets
from unrender.layers.visual import FrozenNorm, ResNeXtPyramid
from unrender.models.codec import from_values, to_json
from unrender.models.config import ImagePrep
from unrender.models.layoutlmv2 import (
    LAYOUTLMV2_BASE,
    LAYOUTLMV2_MINI,
    LabelConfig,
    LayoutConfig,
    ResNeXtConfig,
    SmallCnnConfig,
    grid_boxes,
)

TOLERANCE = 1e-4
TINY = LayoutConfig(
    vocabulary=60, hidden=48, layers=3, heads=4, feed_forward=64, max_positions=50, coordinate_width=8,
    visual=SmallCnnConfig(widths=(16,)),
)  # fmt: skip
AS_PUBLISHED = replace(
    TINY, order="text first", anchor="bottom", separator_box="last", visual_segment=False, dropout=0.1
)

_BOX_SIZES = ("coordinate_size", "shape_size")


class Handed(nn.Module):
    """A backbone that hands on features (B, V, width) as a map of 7 x 7."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features.transpose(1, 2).unflatten(2, (7, 7))


def tiny(layout: LayoutConfig = TINY, **settings: object) -> LabelConfig:
    image = ImagePrep(height=56, width=56, fit="squash", channels=1, mean=(0.5,), std=(0.5,))
    return LabelConfig(name="tiny", task="labels", image=image, layout=layout, stride=4, **settings)


def draw(config: LabelConfig, seed: int = 0) -> LabelModel:
    model = LabelModel(config).eval()
    generator = torch.Generator().manual_seed(seed)
    model.init_weights(generator)
    with torch.no_grad():
        for parameter in model.encoder.bias.parameters() if model.encoder.bias else ():
            parameter.normal_(generator=generator)
    return model


def twin(theirs: nn.Module, config: LabelConfig) -> LabelModel:
    """Our model with the weights of transformers' model, the visual backbone taken out."""
    ours = LabelModel(config)
    own = {name: tensor.numpy() for name, tensor in ours.state_dict().items() if ".visual.stages" in name}
    published = {rename(name): tensor.numpy() for name, tensor in theirs.state_dict().items()}
    tensors = published | own
    shapes = {name: array.shape for name, array in tensors.items()}
    weights = assemble(plan(shapes, config, "transformers", published=False), tensors.__getitem__)
    ours.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
    ours.embedding.visual = Handed()
    return ours.eval()


def ours_from(theirs: dict[str, torch.Tensor]) -> LabelInputs:
    return LabelInputs(
        theirs["input_ids"], theirs["bbox"], theirs["attention_mask"].bool(), theirs["image"], theirs["token_type_ids"]
    )


def random_inputs(pages: int = 2, length: int = 9) -> LabelInputs:
    drawn = layout_oracle.inputs(pages, length)
    pixels = torch.randn((pages, 1, 56, 56), generator=torch.Generator().manual_seed(2))
    return ours_from(drawn)._replace(pixels=pixels, mask=torch.ones_like(drawn["input_ids"]).bool())


def test_the_base_model_has_exactly_the_published_number_of_parameters():
    assert state(LAYOUTLMV2_BASE).count == LAYOUTLMV2_BASE.parameters == 200_081_984
    buffers = state(LAYOUTLMV2_BASE).buffers
    affine = [shape[0] for name, shape in buffers.items() if name.endswith((".norm.weight", ".norm.bias"))]
    assert sum(affine) == 202_880


def test_the_encoder_gives_what_transformers_gives(monkeypatch):
    theirs = layout_oracle.make(monkeypatch)
    given = layout_oracle.inputs()
    ours = twin(theirs, tiny(AS_PUBLISHED))
    with torch.no_grad():
        expected = theirs(**given)
        found = ours.encode(ours_from(given))
    length, kept = given["input_ids"].shape[1], given["attention_mask"].bool()
    assert torch.allclose(found.text[kept], expected.last_hidden_state[:, :length][kept], atol=TOLERANCE)
    assert torch.allclose(found.visual, expected.last_hidden_state[:, length:], atol=TOLERANCE)
    assert torch.allclose(ours.pool(found), expected.pooler_output, atol=TOLERANCE)


def test_a_visual_segment_embedding_is_added_as_transformers_adds_it(monkeypatch):
    theirs = layout_oracle.make(monkeypatch, has_visual_segment_embedding=True)
    given = layout_oracle.inputs()
    ours = twin(theirs, tiny(replace(AS_PUBLISHED, visual_segment=True)))
    with torch.no_grad():
        expected = theirs(**given).last_hidden_state[:, 20:]
        found = ours.encode(ours_from(given)).visual
    assert torch.allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("kind", "head"),
    [("TokenClassification", "labels"), ("SequenceClassification", "class"), ("QuestionAnswering", "answer")],
)
def test_each_head_scores_as_in_transformers(monkeypatch, kind, head):
    labels = () if head == "answer" else ("a", "b", "c")
    theirs = layout_oracle.make(monkeypatch, f"LayoutLMv2For{kind}", num_labels=max(2, len(labels)))
    given = layout_oracle.inputs()
    layout = replace(AS_PUBLISHED, visual_segment=head == "answer")  # their answering model has the [C] embedding
    ours = twin(theirs, tiny(layout, head=head, labels=labels))
    with torch.no_grad():
        answer = theirs(**given)
        found = ours(ours_from(given))
    expected = answer.logits if head != "answer" else torch.stack([answer.start_logits, answer.end_logits], -1)
    kept = given["attention_mask"].bool() if head != "class" else torch.ones(3).bool()
    assert torch.allclose(found[kept], expected[kept], atol=TOLERANCE)


@pytest.mark.parametrize(("count", "reach", "farthest"), [(32, 128, 600), (64, 256, 1000)])
def test_every_distance_falls_into_the_published_bucket(count, reach, farthest):
    distances = torch.arange(-farthest, farthest + 1)
    expected = relative_position_bucket(distances, num_buckets=count, max_distance=reach)
    assert buckets(distances, count, reach).tolist() == expected.tolist()


def test_visual_tokens_divide_the_page_with_neither_overlap_nor_omission():
    boxes = grid_boxes(7)
    edges = [0, 142, 285, 428, 571, 714, 857, 1000]
    assert sorted({box[0] for box in boxes} | {box[2] for box in boxes}) == edges
    assert sorted({box[1] for box in boxes} | {box[3] for box in boxes}) == edges
    assert sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in boxes) == 1000 * 1000
    assert boxes[1] == (142, 0, 285, 142)
    assert boxes[7] == (0, 142, 142, 285)


def test_biases_differ_among_heads_and_are_shared_by_all_layers():
    model = draw(tiny())
    assert [name for name, _ in model.named_parameters() if "bias.positions" in name] == ["encoder.bias.positions"]
    inputs = random_inputs()
    bias = model.encoder.bias(inputs.boxes, torch.arange(9))
    assert bias.shape == (2, 4, 9, 9)
    assert not torch.allclose(bias[:, 0], bias[:, 1])


def test_the_bias_of_a_pair_is_the_sum_of_its_three_distances():
    bias = draw(tiny()).encoder.bias
    boxes = torch.tensor([[[10, 500, 20, 510], [300, 40, 310, 50]]])
    found = bias(boxes, torch.tensor([0, 1]))[0, :, 0, 1]
    near, wide = (lambda distance, size, reach: int(buckets(torch.tensor([distance]), size, reach)),) * 2
    expected = bias.positions[:, near(1, 32, 128)] + bias.x[:, wide(290, 64, 256)] + bias.y[:, wide(-460, 64, 256)]
    assert torch.allclose(found, expected)


def test_biases_receive_gradients():
    model = draw(tiny(head="labels", labels=("a", "b"))).train()
    model(random_inputs()).sum().backward()
    for name in ("positions", "x", "y"):
        assert getattr(model.encoder.bias, name).grad.abs().sum() > 0


@pytest.mark.parametrize(("anchor", "row"), [("top", 1), ("bottom", 3)])
def test_the_anchor_chooses_which_edge_of_a_box_counts_vertically(anchor, row):
    bias = SpatialBias(replace(TINY, anchor=anchor))
    nn.init.normal_(bias.y)
    boxes = torch.tensor([[[0, 100, 10, 400], [0, 100, 10, 900]]])
    apart = bias(boxes, torch.zeros(2, dtype=torch.long))[0, :, 0, 1] - bias.x[:, 0] - bias.positions[:, 0]
    distance = boxes[0, 1, row] - boxes[0, 0, row]
    assert torch.allclose(apart, bias.y[:, int(buckets(distance[None], 64, 256))])


def test_the_order_of_text_and_picture_changes_nothing_but_places():
    first = draw(tiny())
    second = LabelModel(tiny(replace(TINY, order="text first"))).eval()
    second.load_state_dict(first.state_dict())
    inputs = random_inputs()
    with torch.no_grad():
        one, other = first.encode(inputs), second.encode(inputs)
    assert torch.allclose(one.text, other.text, atol=1e-5)
    assert torch.allclose(one.visual, other.visual, atol=1e-5)


def test_padding_changes_no_token():
    model = draw(tiny())
    inputs = random_inputs(1, 9)
    with torch.no_grad():
        alone = model.encode(inputs).text
        padded = LabelInputs(
            nn.functional.pad(inputs.tokens, (0, 3)),
            nn.functional.pad(inputs.boxes, (0, 0, 0, 3)),
            nn.functional.pad(inputs.mask, (0, 3)),
            inputs.pixels,
            nn.functional.pad(inputs.segments, (0, 3)),
        )
        beside = model.encode(padded).text[:, :9]
    assert torch.allclose(alone, beside, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "field"),
    [("pixels", "visual"), ("boxes", "layout"), ("tokens", "words"), ("segments", "segments")],
)
def test_every_input_matters(change, field):
    model = draw(tiny())
    inputs = random_inputs()
    value = getattr(inputs, change)
    changed = inputs._replace(**{change: value.flip(0) if change != "segments" else 1 - value})
    with torch.no_grad():
        assert not torch.allclose(model.encode(inputs).text, model.encode(changed).text, atol=1e-3), field


def test_parts_can_be_left_out_to_measure_them():
    bare = replace(TINY, visual=None, layout=False, spatial_bias=False)
    model = draw(tiny(bare))
    inputs = random_inputs()
    with torch.no_grad():
        vectors = model.encode(inputs._replace(pixels=None))
        moved = model.encode(inputs._replace(pixels=None, boxes=inputs.boxes.flip(0)))
    assert vectors.visual.shape == (2, 0, 48)
    assert torch.equal(vectors.text, moved.text)


def test_a_frozen_norm_is_a_batch_norm_at_rest():
    generator = torch.Generator().manual_seed(0)
    ours, theirs = FrozenNorm(5, 1e-5), nn.BatchNorm2d(5).eval()
    for name in ("weight", "bias", "running_mean", "running_var"):
        values = torch.rand(5, generator=generator) + 0.5
        getattr(ours, name).data.copy_(values)
        getattr(theirs, name).data.copy_(values)
    features = torch.randn((2, 5, 3, 3), generator=generator)
    scale, shift = ours.affine()
    found = features * scale[:, None, None] + shift[:, None, None]
    assert torch.allclose(found, theirs(features), atol=1e-6)
    assert not list(ours.parameters())


def test_the_pyramid_adds_each_coarser_level_to_the_finer_one():
    """Computed once more, level by level, with torch's own layers."""
    config = ResNeXtConfig(depths=(1, 2), groups=2, group_width=2, stem_width=8, first_width=8, out_width=6)
    model = ResNeXtPyramid(config).eval()
    pixels = torch.rand((1, 3, 64, 64), generator=torch.Generator().manual_seed(0))
    blue_first = (255 * pixels[:, [2, 1, 0]] - model.mean) / model.std
    features = nn.functional.conv2d(blue_first, model.stem.convolution.weight, stride=2, padding=3) / (1 + 1e-5) ** 0.5
    features = nn.functional.max_pool2d(features.relu(), 3, 2, 1)
    fine = model.stages[0](features)
    coarse = model.stages[1](fine)
    assert fine.shape[2:] == (16, 16)
    assert coarse.shape[2:] == (8, 8)
    summed = model.laterals[0](fine) + model.laterals[1](coarse).repeat_interleave(2, 2).repeat_interleave(2, 3)
    assert torch.allclose(model(pixels), model.outputs[0](summed), atol=1e-4)


def test_a_bottleneck_strides_in_its_grouped_convolution():
    block = ResNeXtPyramid(ResNeXtConfig(depths=(1, 1), groups=2, group_width=2)).stages[1][0]
    strides = {name: getattr(block, name).convolution.stride for name in ("narrow", "grouped", "widen", "shortcut")}
    assert strides == {"narrow": (1, 1), "grouped": (2, 2), "widen": (1, 1), "shortcut": (2, 2)}
    assert block.grouped.convolution.groups == 2


def test_a_picture_of_224_becomes_49_visual_tokens():
    config = tiny(replace(TINY, visual=ResNeXtConfig(depths=(1, 1, 1, 1), groups=2, group_width=2, first_width=8)))
    model = draw(config)
    inputs = random_inputs(1)._replace(pixels=torch.rand(1, 3, 224, 224))
    assert model.embedding.visual(inputs.pixels).shape == (1, 256, 56, 56)
    assert model.encode(inputs).visual.shape == (1, 49, 48)


def test_bert_weights_start_the_text_part(monkeypatch):
    """A BERT encoder and ours without layout and picture give the same, though ours has no key biases."""
    from transformers import BertConfig, BertModel

    sizes = {name: layout_oracle.SIZES[name] for name in layout_oracle.SIZES if name not in _BOX_SIZES}
    torch.manual_seed(0)
    bert = BertModel(BertConfig(**sizes, attn_implementation="eager"), add_pooling_layer=True).eval()
    for parameter in bert.parameters():
        nn.init.normal_(parameter, std=0.3)
    config = tiny(replace(TINY, visual=None, layout=False, spatial_bias=False))
    model = LabelModel(config).eval()
    weights = from_bert({name: tensor.numpy() for name, tensor in bert.state_dict().items()})
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    given = layout_oracle.inputs()
    with torch.no_grad():
        expected = bert(given["input_ids"], given["attention_mask"], given["token_type_ids"]).last_hidden_state
        found = model.encode(ours_from(given)).text
    kept = given["attention_mask"].bool()
    assert torch.allclose(found[kept], expected[kept], atol=TOLERANCE)


def test_a_config_survives_its_file():
    bare = tiny(replace(TINY, visual=None), head="labels", labels=("a", "b"))
    for config in (LAYOUTLMV2_BASE, LAYOUTLMV2_MINI, bare):
        assert from_values(json.loads(to_json(config))) == config


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="six coordinates"):
        LayoutConfig(hidden=48, coordinate_width=9, heads=4)
    with pytest.raises(ConfigError, match="head 'labels' and 0 labels"):
        tiny(head="labels")
    with pytest.raises(ModelError, match="left over are surplus"):
        convert(tiny(), {"surplus": np.zeros(1)})
