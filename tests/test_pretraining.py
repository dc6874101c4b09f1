"""LayoutLMv2's pre-training: each rule of the seed against leaking, on pixels and on labels."""

import layout_models
import numpy as np
import pytest
import torch
from PIL import Image

from unrender.errors import DataError
from unrender.images.pixels import prepare
from unrender.layers.spatial import LabelModel, SpatialBias
from unrender.models.layoutlmv2 import COORDINATES, LAYOUTLMV2_MINI, grid_boxes
from unrender.training.batches import IGNORED
from unrender.training.loop import Trainer
from unrender.training.objectives import Pretraining
from unrender.training.receipt.pretraining import (
    COVERED,
    DROPPED,
    MATCHED,
    REPLACED,
    VISIBLE,
    Beginning,
    Example,
    PlainPage,
    PretrainStream,
    Tasks,
    cut_band,
)
from unrender.training.recipe import Recipe, Schedule

CONFIG = layout_models.tiny()
SIDE = 500


@pytest.fixture
def tokenizer(tmp_path):
    return layout_models.tokenizer(tmp_path, CONFIG)


def noise(seed: int = 0, size: tuple[int, int] = (SIDE, SIDE)) -> Image.Image:
    values = np.random.default_rng(seed).integers(1, 255, size[::-1])
    return Image.fromarray(values.astype(np.uint8))


def make(tokenizer, words: int = 40, image: Image.Image | None = None) -> Example:
    """A page with two words to a line."""
    top = np.arange(words) // 2 * 40
    left = 500 * (np.arange(words) % 2)
    boxes = np.stack([left + 10, top + 5, left + 300, top + 30], axis=1)
    return Example(tokenizer.pieces(["ab"] * words), boxes, np.arange(words) // 2, image or noise())


def pages(count: int = 6, words: int = 12) -> list[PlainPage]:
    return [
        PlainPage(
            noise(seed, (100, 100)),
            ("total", "ab", "9") * (words // 3),
            layout_models.boxes(words),
            tuple(np.arange(words) // 3),
        )
        for seed in range(count)
    ]


def region(box) -> tuple[slice, slice]:
    x0, y0, x1, y1 = (int(corner) * SIDE // 1000 for corner in box)
    return slice(y0, y1 + 1), slice(x0, x1 + 1)


def test_masking_keeps_the_layout_and_asks_for_the_very_tokens(tokenizer):
    example = make(tokenizer)
    before, boxes = [list(piece) for piece in example.pieces], example.boxes.copy()
    example.mask_tokens(Tasks(), tokenizer, np.random.default_rng(0))
    assert example.masked.any()
    assert np.array_equal(example.boxes, boxes)
    for index, masked in enumerate(example.masked):
        assert example.targets[index] == (before[index] if masked else [IGNORED] * len(before[index]))
        assert masked or example.pieces[index] == before[index]


def test_a_masked_word_is_masked_in_the_raw_picture_before_anything_else(tokenizer):
    """Two pictures that differ only where words are masked give the very same pixels."""
    first, second = make(tokenizer), make(tokenizer)
    for example in (first, second):
        example.mask_tokens(Tasks(), tokenizer, np.random.default_rng(0))
    other = np.array(noise())
    for index in np.flatnonzero(second.masked):
        other[region(second.boxes[index])] = 255 - other[region(second.boxes[index])]
    second.image = Image.fromarray(other)
    assert not np.array_equal(np.array(first.image), other)
    one, two = (prepare(example.picture(), CONFIG.image) for example in (first, second))
    assert np.array_equal(one, two)


def test_pictures_of_words_that_stay_are_left_alone(tokenizer):
    example = make(tokenizer)
    example.mask_tokens(Tasks(), tokenizer, np.random.default_rng(0))
    shown, original = np.array(example.picture()), np.array(example.image)
    for index in np.flatnonzero(~example.masked):
        assert np.array_equal(shown[region(example.boxes[index])], original[region(example.boxes[index])])


def test_words_that_are_kept_or_exchanged_are_hidden_in_the_picture_too(tokenizer):
    example = make(tokenizer, 400)
    before = [list(piece) for piece in example.pieces]
    example.mask_tokens(Tasks(), tokenizer, np.random.default_rng(0))
    same = [index for index in np.flatnonzero(example.masked) if example.pieces[index] == before[index]]
    as_mask = [index for index in np.flatnonzero(example.masked) if set(example.pieces[index]) == {tokenizer.mask}]
    assert same
    assert len(example.hidden) == example.masked.sum()
    assert 0.6 < len(as_mask) / example.masked.sum() < 0.95
    assert 0.1 < example.masked.mean() < 0.2


def test_whole_lines_are_covered_and_their_words_stay_in_the_text(tokenizer):
    example = make(tokenizer)
    before = [list(piece) for piece in example.pieces]
    example.cover_lines(Tasks(covered=0.3), np.random.default_rng(1))
    assert example.covered.any()
    assert not example.covered.all()
    assert example.pieces == before
    assert all(example.covered[index] == example.covered[index + 1] for index in range(0, 40, 2))
    shown = np.array(example.picture())
    for index in range(0, 40, 2):
        line = region([*example.boxes[index][:2], *example.boxes[index + 1][2:]])
        assert (not shown[line].any()) == example.covered[index]


def test_masked_words_have_no_part_in_alignment(tokenizer):
    example = make(tokenizer)
    rng = np.random.default_rng(2)
    example.mask_tokens(Tasks(masked=0.4), tokenizer, rng)
    example.cover_lines(Tasks(covered=0.4), rng)
    labels = example.alignment_labels()
    assert (labels[example.masked] == IGNORED).all()
    assert (labels[~example.masked & example.covered] == COVERED).all()
    assert (labels[~example.masked & ~example.covered] == VISIBLE).all()


@pytest.mark.parametrize(
    ("tasks", "kind"), [(Tasks(replaced=1.0), REPLACED), (Tasks(replaced=0.0, dropped=1.0), DROPPED)]
)
def test_a_negative_is_masked_and_covered_alike_and_all_its_words_count_as_covered(tokenizer, tasks, kind):
    example, positive = make(tokenizer), make(tokenizer)
    for one in (example, positive):
        rng = np.random.default_rng(3)
        one.mask_tokens(tasks, tokenizer, rng)
        one.cover_lines(tasks, rng)
    example.exchange_image(tasks, noise(9), np.random.default_rng(0))
    assert example.kind == kind
    assert example.hidden == positive.hidden
    shown, untouched = (
        np.array(example.picture()),
        np.array(noise(9) if kind == REPLACED else Image.new("L", (SIDE, SIDE), 255)),
    )
    hidden = np.array(positive.picture()) == 0
    assert hidden.any()
    assert not shown[hidden].any()
    assert np.array_equal(shown[~hidden], untouched[~hidden])
    labels = example.alignment_labels()
    assert set(labels[~example.masked].tolist()) == {COVERED}
    assert set(labels[example.masked].tolist()) == {IGNORED}


def test_a_negative_of_another_size_is_hidden_at_the_same_places(tokenizer):
    example = make(tokenizer)
    example.mask_tokens(Tasks(), tokenizer, np.random.default_rng(0))
    example.exchange_image(Tasks(replaced=1.0), noise(9, (300, 800)), np.random.default_rng(0))
    shown = np.array(example.picture())
    assert shown.shape == (800, 300)
    x0, y0, x1, y1 = example.hidden[0]
    assert not shown[y0 * 8 // 10 : y1 * 8 // 10, x0 * 3 // 10 : x1 * 3 // 10].any()


def test_a_batch_says_which_pictures_belong(tokenizer):
    batches = PretrainStream(pages(), tokenizer, CONFIG.image, Tasks(replaced=0.3, dropped=0.2), seed=0, batch=4)
    kinds = {MATCHED: 0, REPLACED: 0, DROPPED: 0}
    rng = np.random.default_rng(0)
    for _ in range(100):
        kinds[batches.make_example(0, rng).kind] += 1
    assert 35 < kinds[MATCHED] < 65
    assert 18 < kinds[REPLACED] < 42
    assert kinds[DROPPED] > 8


def test_a_replaced_picture_is_never_the_pages_own(tokenizer):
    batches = PretrainStream(pages(3), tokenizer, CONFIG.image, Tasks(replaced=1.0, masked=0, covered=0), seed=0)
    rng = np.random.default_rng(0)
    own = np.array(pages(3)[1].open_image())
    assert not any(np.array_equal(np.array(batches.make_example(1, rng).image), own) for _ in range(20))


def test_a_batch_is_the_same_whenever_it_is_asked_for(tokenizer):
    one, two = (PretrainStream(pages(), tokenizer, CONFIG.image, Tasks(), seed=5, batch=2) for _ in range(2))
    seven, eight = one.batch(7), one.batch(8)
    for first, second in zip(seven, two.batch(7), strict=True):
        assert np.array_equal(first, second)
    assert not np.array_equal(seven.tokens, eight.tokens) or not np.array_equal(seven.pixels, eight.pixels)


def test_the_parts_of_a_batch_make_the_whole(tokenizer):
    stream = PretrainStream(pages(), tokenizer, CONFIG.image, Tasks(), seed=5, batch=3)
    whole, parts = stream.batch(7), [stream.batch(7, part, 2) for part in range(2)]
    assert [part.whole for part in parts] == [3, 3]
    for row, (part, inner) in enumerate([(0, 0), (1, 0), (0, 1)]):
        assert np.array_equal(whole.pixels[row], parts[part].pixels[inner])
        assert whole.matched[row] == parts[part].matched[inner]


def test_a_band_of_lines_is_a_page_of_its_own():
    """Each word of a page has a shade of its own; in the band it still stands where its box says."""
    words, side = 20, 1000
    boxes = np.stack(
        [np.full(words, 100), np.arange(words) * 50 + 10, np.full(words, 900), np.arange(words) * 50 + 40], 1
    )
    values = np.full((side, side), 255, dtype=np.uint8)
    for shade, (x0, y0, x1, y1) in enumerate(boxes):
        values[y0:y1, x0:x1] = shade
    shuffled = np.random.default_rng(0).permutation(words)  # words need not come from top to bottom
    page = PlainPage(Image.fromarray(values), tuple(map(str, shuffled)), boxes[shuffled], tuple(shuffled))
    band = cut_band(page, 4, np.random.default_rng(1))
    numbers = sorted(map(int, band.words))
    assert numbers == list(range(numbers[0], numbers[0] + 4))
    assert band.open_image().width == side
    shown = np.array(band.open_image())
    for word, (x0, y0, x1, y1) in zip(band.words, band.boxes, strict=True):
        row = (y0 + y1) // 2 * len(shown) // 1000
        assert set(shown[row, x0 : x1 - 1].tolist()) == {int(word)}
    assert band.boxes[:, 1].min() < 50
    assert band.boxes[:, 3].max() > 950
    assert cut_band(page, words, np.random.default_rng(1)) is page


def test_pages_grow_from_bands_to_whole_ones(tokenizer):
    beginnings = [Beginning(2, 1, masking=False), Beginning(4, 2)]
    tasks = Tasks(masked=0.5)
    batches = PretrainStream(pages(), tokenizer, CONFIG.image, tasks, seed=0, batch=4, beginnings=beginnings)
    whole = PretrainStream(pages(), tokenizer, CONFIG.image, tasks, seed=0, batch=4)
    longest = [int(batches.batch(number).mask.sum(1).max()) for number in range(5)]
    assert longest[0] == longest[1] < longest[2] == longest[3] < longest[4]
    masked = [bool((batches.batch(number).targets != IGNORED).any()) for number in range(5)]
    assert masked == [False, False, True, True, True]
    assert np.array_equal(batches.batch(4).tokens, whole.batch(4).tokens)
    losses = Pretraining(LabelModel(CONFIG), tasks)(batches.batch(0))
    assert sorted(name for name, part in losses.items() if part.units) == ["tia", "tim"]


def test_masking_alone_masks_from_the_beginning_and_a_batch_without_masks_teaches_nothing(tokenizer):
    tasks = Tasks(alignment=False, matching=False, masked=0.5)
    beginnings = [Beginning(2, 1, masking=False)]
    batch = PretrainStream(pages(), tokenizer, CONFIG.image, tasks, seed=0, batch=4, beginnings=beginnings).batch(0)
    objective = Pretraining(LabelModel(CONFIG), tasks)
    assert float(objective(batch)["mvlm"].total.detach()) > 0
    nothing = batch._replace(targets=np.full_like(batch.targets, IGNORED))
    assert float(objective(nothing)["mvlm"].total.detach()) == 0


def test_special_tokens_and_padding_are_in_no_loss(tokenizer):
    batch = PretrainStream(pages(), tokenizer, CONFIG.image, Tasks(masked=1.0), seed=0, batch=2).batch(0)
    special = np.isin(batch.tokens, [tokenizer.begin, tokenizer.separate, tokenizer.pad])
    assert (batch.targets[special] == IGNORED).all()
    assert (batch.alignment[special] == IGNORED).all()


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        (Tasks(), ["mvlm", "tia", "tim"]),
        (Tasks(alignment=False, matching=False), ["mvlm"]),
        (Tasks(masking=False, matching=False), ["tia"]),
    ],
)
def test_only_the_tasks_that_are_on_are_trained(tokenizer, tasks, names):
    objective = Pretraining(LabelModel(CONFIG), tasks)
    batch = PretrainStream(pages(), tokenizer, CONFIG.image, tasks, seed=0, batch=2).batch(0)
    assert sorted(objective(batch)) == names


def test_no_task_at_all_is_refused():
    with pytest.raises(DataError, match="at least one task"):
        Tasks(masking=False, alignment=False, matching=False)


def trainer(tokenizer, folder, tasks: Tasks, recipe: Recipe, count: int) -> Trainer:
    encoder = LabelModel(CONFIG)
    encoder.init_weights(torch.Generator().manual_seed(0))
    stream = PretrainStream(pages(count), tokenizer, CONFIG.image, tasks, seed=0, batch=count)
    return Trainer(Pretraining(encoder, tasks), stream, recipe, folder)


def test_all_losses_fall(tokenizer, tmp_path):
    recipe = Recipe(updates=40, schedule=Schedule.linear(3e-3, 40), threads=1)
    whole = trainer(tokenizer, tmp_path, Tasks(replaced=0.4), recipe, 4)
    whole.run()
    first = {name: np.mean(values[:8]) for name, values in whole.recent.items()}
    last = {name: np.mean(values[-8:]) for name, values in whole.recent.items()}
    assert all(last[name] < first[name] for name in ("mvlm", "tia", "tim", "loss")), (first, last)


def test_the_rate_warms_up_and_falls_to_zero():
    schedule = Schedule.linear(2e-5, 100)
    assert schedule(0) == pytest.approx(2e-6)
    assert schedule(9) == pytest.approx(2e-5)
    assert schedule(55) == pytest.approx(1e-5)
    assert schedule(99) == pytest.approx(2e-5 / 90)


@pytest.mark.slow
def test_alignment_is_learnt_from_the_pixels_far_below_chance(tokenizer, tmp_path):
    tasks = Tasks(masking=False, matching=False)
    recipe = Recipe(updates=400, schedule=Schedule.linear(5e-3, 400), threads=1)
    learnt = trainer(tokenizer, tmp_path, tasks, recipe, 8)
    learnt.run()
    assert np.mean(learnt.recent["tia"][-20:]) < 0.25 * tasks.chance()["tia"]


def test_chance_is_what_the_shares_alone_give():
    found = Tasks(covered=0.5, matching=False).chance()
    assert found["tia"] == pytest.approx(np.log(2))
    assert Tasks(covered=0.0, replaced=0.3, dropped=0.2).chance() == pytest.approx({"tia": np.log(2), "tim": np.log(2)})


def test_some_heads_begin_by_looking_at_the_part_of_the_picture_that_a_word_stands_in():
    layout = LAYOUTLMV2_MINI.layout
    bias = SpatialBias(layout)
    bias.lean(3.0, COORDINATES // layout.grid)
    cells = torch.tensor(grid_boxes(layout.grid))
    word = torch.tensor([[450, 620, 520, 640]])
    scores = bias(torch.cat([cells, word])[None], torch.zeros(len(cells) + 1, dtype=torch.long))[0].detach()
    own = [index for index, (x0, y0, x1, y1) in enumerate(cells.tolist()) if x0 <= 450 < x1 and y0 <= 620 < y1]
    quarter = layout.heads // 4
    for heads, seen in ((slice(0, quarter), scores[:, -1, :-1]), (slice(quarter, 2 * quarter), scores[:, :-1, -1])):
        assert (seen[heads] == seen[heads].amax(1, keepdim=True)).nonzero()[:, 1].tolist() == own * quarter
    assert not scores[2 * quarter :].any()
