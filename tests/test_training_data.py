"""Training data: corpora, caches, batches, augmentation and noise; the same seed gives the same data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unrender.checkpoints import resolve
from unrender.errors import DataError
from unrender.images.pixels import prepare, stack
from unrender.models.config import ImagePrep
from unrender.tokens import read_list
from unrender.training.augment import Augmentation, perturb_tokens, replace_share
from unrender.training.batches import BatchStream, Framing, Stage
from unrender.training.data import Cache, CacheWriter, Sample, write_cache, write_part
from unrender.training.formula.texts import (
    Formula,
    is_held_out,
    is_validation_paper,
    load_corpus,
    read_arxiv,
    save_corpus,
    visible,
    vocabulary,
)

VOCABULARY = ["<pad>", "<s>", "</s>", "<unk>", *"abcdefgh"]
PREPARATION = ImagePrep(
    height=256, width=1024, fit="free", channels=1, mean=(1.0,), std=(0.3,), crop_margin=True, margin=1, pad_value=1.0,
    multiple=8,
)  # fmt: skip
FRAMING = Framing(vocabulary=len(VOCABULARY), start=(1,), end=2, pad=0, image=PREPARATION)
PLAIN = Augmentation(nougat=False, scale=0.0, darken=0.0, margin=1)


def make_samples(count: int, seed: int = 0) -> list[Sample]:
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(count):
        height, width, length = (int(rng.integers(low, high)) for low, high in ((8, 40), (20, 90), (1, 12)))
        gray = rng.integers(0, 256, (height, width), dtype=np.uint8)
        samples.append(Sample(gray, tuple(rng.integers(4, len(VOCABULARY), length).tolist()), number % 3))
    return samples


@pytest.fixture
def stream(tmp_path: Path) -> BatchStream:
    """Batches of two small sets."""
    for seed, name in enumerate(("one", "two")):
        write_cache(tmp_path / name, VOCABULARY, make_samples(60, seed))
    caches = {name: Cache(tmp_path / name) for name in ("one", "two")}
    stages = (Stage(samples=1000, max_tokens=8, mix=(("one", 3.0), ("two", 1.0)), batch=4),)
    return BatchStream(caches, stages, FRAMING, Augmentation(), seed=5, token_noise=0.1)


@pytest.fixture
def picture() -> np.ndarray:
    gray = np.full((32, 96), 255, dtype=np.uint8)
    gray[8:24, 10:20] = gray[14:18, 30:80] = 0
    return gray


def test_a_cache_holds_pictures_labels_and_groups_bit_by_bit(tmp_path):
    samples = make_samples(20)
    assert write_cache(tmp_path, VOCABULARY, samples) == 20
    cache = Cache(tmp_path)
    assert len(cache) == 20
    for number, sample in enumerate(samples):
        assert np.array_equal(cache.gray(number), sample.gray)
        assert cache.tokens(number).tolist() == list(sample.tokens)
        assert cache.text(number) == " ".join(VOCABULARY[token] for token in sample.tokens)
    assert cache.index["group"].tolist() == [sample.group for sample in samples]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "index.npy",
        "pixels.u8",
        "tokens.i2",
        "vocabulary.json",
    ]


def test_a_cache_that_was_not_finished_cannot_be_opened(tmp_path):
    writer = CacheWriter(tmp_path, VOCABULARY)
    writer.add(make_samples(1)[0])
    with pytest.raises(DataError, match="is not a prepared dataset"):
        Cache(tmp_path)
    writer.close()
    assert len(Cache(tmp_path)) == 1


def test_a_block_is_the_same_every_time_and_another_block_is_another(stream):
    assert stream.block(3, 0) == stream.block(3, 0) != stream.block(4, 0)


def test_batches_are_the_same_bit_by_bit_wherever_they_begin(stream):
    whole = list(stream.batches(0, 0, 0))
    rest = list(stream.batches(0, 5, 0))
    assert len(rest) == len(whole) - 5 > 5
    for first, again in zip(whole[5:], rest, strict=True):
        assert np.array_equal(first.pixels, again.pixels)
        assert np.array_equal(first.inputs, again.inputs)
        assert np.array_equal(first.targets, again.targets)


def test_the_parts_of_a_batch_make_the_whole(stream):
    whole, first, second = (next(stream.batches(0, 0, 0, part, parts)) for part, parts in ((0, 1), (0, 2), (1, 2)))
    assert whole.whole == first.whole == second.whole == len(first.inputs) + len(second.inputs)
    together = sorted(first.targets.tolist() + second.targets.tolist(), key=str)
    assert [[token for token in row if token >= 0] for row in together] == [
        [token for token in row if token >= 0] for row in sorted(whole.targets.tolist(), key=str)
    ]


def test_a_batch_is_alike_in_size_and_padded_to_the_multiple(stream):
    for members, batch in zip(stream.block(0, 0), stream.batches(0, 0, 0), strict=True):
        heights = [stream._size(*member)[0] for member in members]
        assert max(heights) // 16 == min(heights) // 16 or len(members) == 4
        assert len(batch.inputs) == len(members) <= 4
        assert not batch.pixels.shape[2] % 8
        assert not batch.pixels.shape[3] % 8


def test_the_pictures_of_a_batch_grow_and_shrink_together(tmp_path):
    write_cache(tmp_path, VOCABULARY, [Sample(np.zeros((40, 40), np.uint8), (5, 6))] * 64)
    stages = (Stage(samples=100, max_tokens=9, batch=8, mix=(("set", 1.0),)),)
    growing = replace(PLAIN, scale=1.0, smallest=0.5, largest=2.0)
    stream = BatchStream({"set": Cache(tmp_path)}, stages, FRAMING, growing, seed=0)
    batches = [next(stream.batches(number, 0, 0)) for number in range(4)]
    heights = [batch.sizes[:, 0] if batch.sizes is not None else batch.pixels.shape[2] for batch in batches]
    assert all(np.ptp(several) <= 2 for several in heights)  # margins of a pixel
    assert np.ptp([np.mean(several) for several in heights]) > 8


def test_a_batch_is_what_reading_would_make_of_its_pictures(tmp_path):
    """With nothing varied but the margin, which reading sets to the same, pixels agree to the bit; around is paper."""
    inked = [np.random.default_rng(seed).integers(0, 150, (9 + seed, 20 + 5 * seed), np.uint8) for seed in range(3)]
    pictures = [np.pad(levels, 1, constant_values=255) for levels in inked]
    for levels in pictures:
        levels[1:-1, 1:-1][:, 3:] = 255  # more paper than ink
        levels[1, 1] = levels[-2, -2] = 0
    write_cache(tmp_path / "set", VOCABULARY, [Sample(levels[1:-1, 1:-1], (4, 5)) for levels in pictures])
    stages = (Stage(samples=9, max_tokens=9, mix=(("set", 1.0),), batch=3),)
    stream = BatchStream({"set": Cache(tmp_path / "set")}, stages, FRAMING, PLAIN, seed=0)
    members = stream.block(0, 0)[0]
    read, _ = stack([prepare(Image.fromarray(pictures[index]), PREPARATION) for _, index in members], PREPARATION)
    height, width = read.shape[2:]
    pixels = next(stream.batches(0, 0, 0)).pixels
    assert np.array_equal(pixels[:, :, :height, :width], read)
    assert (pixels[:, :, height:] == read.max()).all()
    assert (pixels[:, :, :, width:] == read.max()).all()


def test_a_part_of_a_set_has_the_samples_with_a_token_and_copies_no_pictures(tmp_path):
    write_cache(tmp_path / "whole", VOCABULARY, make_samples(6))
    whole = Cache(tmp_path / "whole")
    token = VOCABULARY[int(whole.tokens(2)[0])]
    for _ in range(2):  # made again, it is the same
        count = write_part(tmp_path / "whole", tmp_path / "part", [token])
    part = Cache(tmp_path / "part")
    holding = [number for number in range(6) if token in whole.text(number).split()]
    assert 2 in holding
    assert len(part) == count == len(holding)
    assert [part.text(row) for row in range(len(part))] == [whole.text(number) for number in holding]
    assert np.array_equal(part.gray(holding.index(2)), whole.gray(2))
    assert (tmp_path / "part" / "pixels.u8").is_symlink()


def test_batches_have_few_shapes(stream):
    batches = list(stream.batches(0, 0, 0))
    pixels = [batch.pixels.shape[2:] for batch in batches]
    assert {(height % 16, width % 32) for height, width in pixels} == {(0, 0)}
    assert {batch.inputs.shape[1] % 16 for batch in batches} == {0}


def test_a_stage_mixes_by_share_and_keeps_to_its_length(stream):
    members = [member for number in range(6) for batch in stream.block(number, 0) for member in batch]
    share = sum(name == "one" for name, _ in members) / len(members)
    assert 0.7 < share < 0.8
    assert max(stream._size(*member)[2] for member in members) == 8


def test_the_rate_of_a_stage_may_fade(tmp_path):
    write_cache(tmp_path, VOCABULARY, make_samples(5))
    whole = (("set", 1.0),)
    stages = (
        Stage(samples=100, max_tokens=9, mix=whole),
        Stage(samples=300, max_tokens=9, mix=whole, learning_rate=0.8, fade=0.2),
    )
    stream = BatchStream({"set": Cache(tmp_path)}, stages, FRAMING, PLAIN, seed=0)
    assert [stream.rate(seen) for seen in (0, 99, 100, 200, 300, 400)] == pytest.approx([1, 1, 0.8, 0.5, 0.2, 0.2])


def test_paper_is_zero_and_ink_is_not(tmp_path, picture):
    write_cache(tmp_path, VOCABULARY, [Sample(picture, (4, 5))])
    stages = (Stage(samples=10, max_tokens=9, mix=(("set", 1.0),), batch=2),)
    batch = next(BatchStream({"set": Cache(tmp_path)}, stages, FRAMING, PLAIN, seed=0).batches(0, 0, 0))
    assert batch.pixels.dtype == np.float32
    assert batch.pixels.max() == 0.0
    assert batch.pixels.min() == pytest.approx(-1 / 0.3)


def augment(picture, settings, rng):
    return settings(picture, np.zeros((0, 4), dtype=np.float32), rng, float(rng.random()))[0]


@pytest.mark.parametrize("settings", [Augmentation(), Augmentation(scale=1.0, darken=1.0, invert=0.5)])
def test_augmentation_comes_from_its_generator_alone(picture, settings):
    results = [[augment(picture, settings, rng) for _ in range(20)] for rng in map(np.random.default_rng, (1, 1, 2))]
    for one, same in zip(results[0], results[1], strict=True):
        assert np.array_equal(one, same)
    assert any(
        one.shape != other.shape or (one != other).any() for one, other in zip(results[0], results[2], strict=True)
    )


def test_without_distortion_only_a_margin_of_paper_is_added(picture):
    rng = np.random.default_rng(0)
    for _ in range(10):
        result = augment(picture, PLAIN, rng)
        assert np.array_equal(result[1:-1, 1:-1], picture)
        assert result[0].min() == 255


def test_scale_stays_within_its_bounds_and_inversion_turns_all(picture):
    settings = Augmentation(nougat=False, scale=1.0, smallest=0.5, largest=2.0, darken=0.0, margin=1, invert=1.0)
    rng = np.random.default_rng(0)
    heights = [augment(picture, settings, rng).shape[0] - 2 for _ in range(50)]
    assert 16 <= min(heights) < 24
    assert 48 < max(heights) <= 64
    assert augment(picture, settings, rng)[0, 0] == 0


def test_a_small_picture_may_grow_more(picture):
    settings = Augmentation(nougat=False, scale=1.0, smallest=1.0, largest=1.2, darken=0.0, margin=1)
    for small, largest in ((0, 1.2), (4 * picture.size, 2.0), (9 * picture.size, 2.2)):
        rng = np.random.default_rng(0)
        grown = [augment(picture, replace(settings, small=small), rng).shape[0] - 2 for _ in range(50)]
        assert 0.9 * largest < max(grown) / picture.shape[0] <= largest + 0.02


def test_a_coarse_picture_has_its_size_and_lost_its_edges(picture):
    plain = Augmentation(nougat=False, scale=0.0, darken=0.0, margin=1)
    coarse = replace(plain, coarse=1.0, coarsest=0.4)
    rng = np.random.default_rng(0)
    results = [augment(picture, coarse, rng)[1:-1, 1:-1] for _ in range(10)]
    steps = np.abs(np.diff(picture.astype(int))).max()
    for result in results:
        assert result.shape == picture.shape
        assert np.abs(np.diff(result.astype(int))).max() < steps


def test_each_distortion_strikes_by_itself(picture):
    """With ten independent ones 65 % of the pictures stay as they are, and none gets nearly all."""
    settings = Augmentation(nougat=True, scale=0.0, darken=0.0, margin=1)
    shaded = np.minimum(picture, np.linspace(180, 250, picture.shape[1]).astype(np.uint8))  # no distortion is idle
    rng = np.random.default_rng(0)
    padded = np.pad(shaded, 1, constant_values=255)
    untouched = np.mean([np.array_equal(augment(shaded, settings, rng), padded) for _ in range(600)])
    expected = np.prod([1 - p for p in (0.05, 0.02, 0.03, 0.03, 0.04, 0.04, 0.03, 0.07, 0.08, 0.03)])
    assert untouched == pytest.approx(expected, abs=0.05)


def test_one_label_in_ten_gets_a_random_token_and_the_mean_is_a_ninth():
    tokens = np.full(200, 3, dtype=np.int64)
    rng = np.random.default_rng(0)
    noisy = np.stack([perturb_tokens(tokens, 5000, rng, first=4) for _ in range(20000)])
    replaced = (noisy != tokens).sum(axis=1)
    assert np.mean(replaced > 0) == pytest.approx(0.1, abs=0.006)
    assert replaced.mean() == pytest.approx(1 / 9, abs=0.008)
    assert (noisy[:, 0] == 3).all()
    assert noisy[noisy != 3].min() >= 4


def test_a_share_of_tokens_is_replaced_but_never_the_first():
    tokens = np.full(100_001, 3, dtype=np.int64)
    noisy = replace_share(tokens, 5000, np.random.default_rng(0), first=4, share=0.25)
    assert np.mean(noisy != tokens) == pytest.approx(0.25, abs=0.01)
    assert noisy[0] == 3
    assert noisy[noisy != 3].min() >= 4
    assert np.array_equal(replace_share(tokens, 5000, np.random.default_rng(0), first=4, share=0.0), tokens)


def test_arxiv_formulas_are_normalised_freed_of_repeats_leaks_and_what_cannot_be_parsed(tmp_path):
    rows = ["p1\tdisplay\tx^2", "p2\tinline\tx ^ {2}\\,", "p1\tdisplay\t{", "p3\tinline\ta\\le b", "p3\tinline\tleak_1"]
    rows.append("p3\tdisplay\t" + "y" * 151)
    path = tmp_path / "formulas.tsv"
    path.write_text("\n".join(rows) + "\n")
    leaks = frozenset({"l e a k _ { 1 }"})
    found = list(read_arxiv(path, leaks=leaks))
    assert [(formula.text, formula.display) for formula in found] == [("x ^ { 2 }", True), ("a \\leq b", False)]


def test_a_corpus_comes_back_as_it_was_saved(tmp_path):
    formulas = [Formula("x ^ { 2 }", 7, True), Formula("\\alpha", 8, False)]
    save_corpus(tmp_path / "corpus.jsonl", formulas)
    assert load_corpus(tmp_path / "corpus.jsonl") == formulas


def test_the_held_out_tenth_does_not_depend_on_spaces():
    labels = [f"x _ {{ {number} }}" for number in range(3000)]
    held = [is_held_out(label) for label in labels]
    assert sum(held) == pytest.approx(300, abs=60)
    assert held == [is_held_out(label.replace("x", "x \\, ~")) for label in labels]
    assert visible("a \\, b \\quad ~ c") == "a b c"


def test_one_paper_in_fifty_is_for_measuring():
    papers = [is_validation_paper(paper) for paper in np.random.default_rng(0).integers(0, 2**28, 5000).tolist()]
    assert sum(papers) == pytest.approx(100, abs=35)


def test_the_vocabulary_begins_with_that_of_the_embedded_model():
    known = read_list(resolve("formula") / "tokenizer.json")
    tokens = vocabulary()
    assert tokens[: len(known)] == known
    assert len(set(tokens)) == len(tokens)
    assert {"\\iiint", "\\rightleftharpoons", "\\div"} <= set(tokens)
