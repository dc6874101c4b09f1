"""The training loop: exact resume, several processes, curriculum, errors."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import Ran
from tests.training_models import (
    EXAMPLES,
    FORMULAS,
    TOKENIZER,
    fresh,
    tiny_cache,
    tiny_formula,
    tiny_label_trainer,
    tiny_trainer,
    tiny_vit,
    tiny_vit_trainer,
)
from unrender import checkpoints
from unrender.errors import ConfigError, DataError, ModelError
from unrender.layers.spatial import LabelInputs
from unrender.training import recipes, text_runs
from unrender.training.batches import IGNORED, BatchStream, Framing, Stage
from unrender.training.data import Cache
from unrender.training.loop import LAST
from unrender.training.objectives import Transcription
from unrender.training.recipe import Schedule
from unrender.training.recipes import FORMULA, SYSTEMS
from unrender.training.runs import draw_curves
from unrender.training.text_runs import start_from
from unrender.training.validation import draw_subset


def _weights(trainer: object) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.module.state_dict().items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize("naming", [0.0, 0.3])
def test_a_resumed_run_ends_with_the_weights_of_one_that_never_stopped(tmp_path: Path, naming: float) -> None:
    whole = tiny_trainer(tmp_path / "whole", samples=96, naming=naming)
    whole.run()
    first = tiny_trainer(tmp_path / "parts", samples=40, naming=naming)
    first.run()
    second = tiny_trainer(tmp_path / "parts", samples=96, naming=naming)
    second.resume()
    second.run()
    assert second.progress.seen == whole.progress.seen
    for name, tensor in _weights(whole).items():
        assert torch.equal(tensor, second.module.state_dict()[name]), name
    for ours, theirs in zip(whole.averages, second.averages, strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(whole.objective.parameters(), second.objective.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_head_that_names_cells_learns_and_stays_out_of_the_model(tmp_path: Path) -> None:
    plain, naming = tiny_trainer(tmp_path / "plain", samples=32), tiny_trainer(tmp_path, samples=32, naming=0.3)
    naming.run(lambda: {"score": 0.0})
    assert set(naming.final_state()) == set(plain.final_state())
    assert set(torch.load(tmp_path / "best.pt", weights_only=True)["state"]) == set(plain.final_state())
    head = naming.objective.heads
    assert head.weight.abs().max() > 0
    assert head.weight.shape[0] == naming.module.config.decoder.vocabulary + 1


def test_a_start_gives_each_token_the_row_of_its_text(tmp_path: Path) -> None:
    config, words = tiny_formula(), list(TOKENIZER.tokens)
    module = fresh(config)
    TOKENIZER.save(tmp_path / "tokenizer.json")
    state = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    checkpoints.save(tmp_path, config, state, tmp_path / "tokenizer.json")
    longer = [*words[:4], "new", *reversed(words[4:])]
    grown = replace(config, decoder=replace(config.decoder, vocabulary=len(longer)))
    started = start_from(tmp_path, grown, longer, seed=0)
    rows, before = started.decoder.tokens.weight, module.decoder.tokens.weight
    for token in words:
        assert torch.equal(rows[longer.index(token)], before[words.index(token)])
    off = (rows[4] - before.mean(0)).abs() / before.std(0)
    assert 0 < off.max() < 1
    for ours, theirs in zip(started.encoder.parameters(), module.encoder.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_start_of_another_shape_is_refused(tmp_path: Path) -> None:
    config = tiny_formula()
    TOKENIZER.save(tmp_path / "tokenizer.json")
    state = {name: tensor.numpy() for name, tensor in fresh(config).state_dict().items()}
    checkpoints.save(tmp_path, config, state, tmp_path / "tokenizer.json")
    deeper = replace(config, decoder=replace(config.decoder, layers=3))
    with pytest.raises(ModelError, match=r"another shape than tiny, first in decoder\.layers\.2"):
        start_from(tmp_path, deeper, TOKENIZER.tokens, seed=0)


def test_resuming_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no .*last\.pt to resume from"):
        tiny_trainer(tmp_path, samples=8).resume()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "other", "parts"])
def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, damage: str) -> None:
    trainer = tiny_trainer(tmp_path, samples=8)
    trainer.save()
    path = tmp_path / LAST
    if damage == "other":
        torch.save([1, 2], path)
    elif damage == "parts":
        torch.save(torch.load(path, weights_only=True) | {"state": {}}, path)
    else:
        path.write_bytes({"cut": path.read_bytes()[:1000], "empty": b"", "text": b"hello, this is text"}[damage])
    with pytest.raises(DataError, match=r"last\.pt is damaged or of another model; start without --resume$") as caught:
        tiny_trainer(tmp_path, samples=8).resume()
    assert "\n" not in str(caught.value)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path, samples=16)
    trainer.run()
    good = (tmp_path / "last.pt").read_bytes()
    with torch.no_grad():
        trainer.module.decoder.final_norm.weight.fill_(float("nan"))
    trainer.recipe = replace(trainer.recipe, samples=32)
    with pytest.raises(DataError, match=r"loss became nan at update \d+, in the batch that begins with tiny \d+"):
        trainer.run()
    assert (tmp_path / "last.pt").read_bytes() == good


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_trainer(tmp_path, samples=16)
    trainer.run()
    good = (tmp_path / "last.pt").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(DataError, match=r"No space left on device.*is kept"):
        trainer.save()
    assert (tmp_path / "last.pt").read_bytes() == good


def test_two_processes_make_the_updates_of_one(tmp_path: Path) -> None:
    alone, labels = tiny_vit_trainer(tmp_path / "alone"), tiny_label_trainer(tmp_path / "labels")
    alone.run()
    labels.run()
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; from pathlib import Path\n"
        "from tests.training_models import tiny_label_trainer, tiny_vit_trainer\n"
        "from unrender.training import distributed\n"
        "distributed.join()\n"
        f"tiny_vit_trainer(Path({str(tmp_path / 'together')!r})).run()\n"
        f"tiny_label_trainer(Path({str(tmp_path / 'labels-together')!r})).run()\n"
        "distributed.leave()\n"
        "threads = [path.read_text().strip() for path in Path('/proc/self/task').glob('*/comm')]\n"
        "assert not any('gloo' in name for name in threads), threads  # they would abort Python at its end\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script)]
    root = Path(__file__).parents[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, timeout=300, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    together = tiny_vit_trainer(tmp_path / "together")
    together.resume()
    batch = next(alone.stream.batches(0, 0, 0))
    pixels, inputs = torch.from_numpy(batch.pixels), torch.from_numpy(batch.inputs)
    untrained = tiny_vit_trainer(tmp_path / "untrained").module(pixels, inputs)
    expected = alone.module(pixels, inputs)
    assert (expected - untrained).abs().max() > 0.1  # it has learned something
    torch.testing.assert_close(together.module(pixels, inputs), expected, rtol=0, atol=1e-4)
    labels_together = tiny_label_trainer(tmp_path / "labels-together")
    labels_together.resume()
    assert labels_together.progress.seen == labels.progress.seen
    given = LabelInputs(*(torch.from_numpy(part) for part in next(labels.stream.batches(0, 0, 0))[:4]))
    expected = labels.module(given)
    assert (expected - tiny_label_trainer(tmp_path / "labels-untrained").module(given)).abs().max() > 0.02
    torch.testing.assert_close(labels_together.module(given), expected, rtol=0, atol=1e-4)


def test_the_curriculum_goes_from_short_to_long(tmp_path: Path) -> None:
    cache = tiny_cache(tmp_path)
    lengths = cache.index["length"]
    stages = (
        Stage(samples=100, max_tokens=int(lengths.min()), mix=(("tiny", 1.0),), batch=4),
        Stage(samples=200, max_tokens=99, mix=(("tiny", 1.0),), batch=4, learning_rate=0.5),
    )
    config = tiny_formula()
    stream = BatchStream({"tiny": cache}, stages, Framing.of(config), recipes.Augmentation(), seed=0)
    early = {cache.index["length"][index] for batch in stream.block(0, 0) for _, index in batch}
    late = {cache.index["length"][index] for batch in stream.block(0, 150) for _, index in batch}
    assert early == {lengths.min()}
    assert max(late) == lengths.max()
    assert (stream.rate(0), stream.rate(150)) == (1.0, 0.5)


def test_a_batch_respects_its_size_and_cost(tmp_path: Path) -> None:
    cache = tiny_cache(tmp_path)
    stages = (Stage(samples=100, max_tokens=99, mix=(("tiny", 1.0),), batch=8, cost=3000),)
    stream = BatchStream({"tiny": cache}, stages, Framing.of(tiny_formula()), recipes.Augmentation(), seed=0)
    for batch in stream.block(0, 0):
        rows = cache.index[[index for _, index in batch]]
        cost = len(batch) * (int(rows["height"].max()) * int(rows["width"].max()) + 64 * int(rows["length"].max()))
        assert len(batch) <= 8
        assert cost <= 3000 or len(batch) == 1


def test_a_set_that_is_not_prepared_is_named(tmp_path: Path) -> None:
    stages = (Stage(samples=100, max_tokens=99, mix=(("absent", 1.0),)),)
    with pytest.raises(DataError, match=r"'absent'.*only tiny are prepared"):
        BatchStream({"tiny": tiny_cache(tmp_path)}, stages, Framing.of(tiny_formula()), recipes.Augmentation(), seed=0)


def test_targets_are_the_inputs_shifted_and_padding_does_not_count(tmp_path: Path) -> None:
    stages = (Stage(samples=100, max_tokens=99, mix=(("tiny", 1.0),), batch=4),)
    config = tiny_formula()
    stream = BatchStream({"tiny": tiny_cache(tmp_path)}, stages, Framing.of(config), recipes.Augmentation(), seed=0)
    batch = next(stream.batches(0, 0, 0))
    for given, wanted in zip(batch.inputs, batch.targets, strict=True):
        length = int((wanted != IGNORED).sum())
        assert given[0] == config.generation.start[0]
        assert wanted[length - 1] == config.generation.end
        assert np.array_equal(given[1:length], wanted[: length - 1])
        assert (given[length:] == config.generation.pad).all()


def test_labels_that_tell_no_case_are_met_by_either(tmp_path: Path) -> None:
    config = tiny_formula()
    stages = (Stage(samples=100, max_tokens=99, mix=(("tiny", 1.0),), batch=8),)
    caches, framing = {"tiny": tiny_cache(tmp_path)}, Framing.of(config)
    stream = BatchStream(caches, stages, framing, recipes.Augmentation(), seed=0, caseless=("tiny",))
    batch = next(batch for batch in stream.batches(0, 0, 0) if len(batch.inputs) > 1)
    assert batch.caseless is not None
    assert batch.caseless.all()
    cases = np.arange(TOKENIZER.size)
    pair = [TOKENIZER.encode(letter)[0] for letter in ("a", "b")]  # say that these are one letter
    cases[pair] = pair[::-1]
    swapped = replace(batch, targets=np.where(batch.targets == IGNORED, IGNORED, cases[np.maximum(batch.targets, 0)]))
    assert not np.array_equal(swapped.targets, batch.targets)
    objective = Transcription(fresh(config).eval(), FORMULA.recipe, cases)
    loss, other = (objective(one)["tokens"].total.item() for one in (batch, swapped))
    strict = [objective(replace(one, caseless=None))["tokens"].total.item() for one in (batch, swapped)]
    assert loss == pytest.approx(other)
    assert loss < max(strict)
    assert loss <= min(strict) + 1e-3


def test_nougats_learning_rate_at_the_updates_of_the_seed() -> None:
    schedule = SYSTEMS["nougat"].recipe.schedule
    assert schedule(0) == 5e-5
    assert schedule(14) == 5e-5
    assert schedule(15) == pytest.approx(5e-5 * 0.9996)
    assert schedule(30) == pytest.approx(5e-5 * 0.9996**2)
    assert schedule(71_115) > 7.5e-6
    assert schedule(71_130 + 15) == 7.5e-6
    assert schedule(200_000) == 7.5e-6


def test_trocr_base_changes_its_rate_after_six_epochs() -> None:
    schedule = SYSTEMS["trocr-base"].recipe.schedule
    assert [schedule(0, epoch) for epoch in (0, 5.9, 6, 14.9)] == [5e-7, 5e-7, 1e-7, 1e-7]


def test_the_seeds_recipes_are_as_the_seeds_state_them() -> None:
    def facts(name: str) -> tuple[float, float, int, float]:
        system = SYSTEMS[name]
        recipe = system.recipe
        return recipe.schedule.peak, recipe.weight_decay, system.batch * recipe.accumulate, recipe.epochs

    assert facts("swimnet") == (5e-6, 1e-4, 15, 10)
    assert facts("trocr-base") == (5e-7, 1e-4, 8, 15)
    assert facts("trocr-small") == (5e-6, 1e-4, 28, 5)
    nougat = facts("nougat")
    assert (nougat[0], nougat[2], nougat[3]) == (5e-5, 192, 3)
    assert {SYSTEMS[name].recipe.optimiser for name in ("swimnet", "trocr-base", "trocr-small", "nougat")} == {"adamw"}


def test_warm_up_rises_and_a_cosine_falls_to_its_floor() -> None:
    schedule = Schedule(peak=1.0, warm_up=10, cosine=(20, 40), floor=0.1)
    assert [schedule(0), schedule(9), schedule(15)] == [pytest.approx(0.1), 1.0, 1.0]
    assert schedule(30) == pytest.approx(0.55)
    assert schedule(40) == schedule(99) == pytest.approx(0.1)


def test_the_validation_subset_is_fixed_and_without_replacement() -> None:
    subset = draw_subset(8547, 1000)
    assert len(set(subset)) == 1000
    assert subset == draw_subset(8547, 1000)
    assert max(subset) < 8547


def test_validation_keeps_the_best_weights_and_the_log_is_readable(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path, samples=16)
    scores = iter([0.5, 0.7])
    trainer.run(lambda: {"printed": 0.5, "score": next(scores)})
    best = (tmp_path / "best.pt").read_bytes()
    trainer.validate(lambda: {"printed": 0.7, "score": next(scores)})
    assert (tmp_path / "best.pt").read_bytes() == best
    events = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["validate", "train", "validate"]
    draw_curves(tmp_path / "metrics.jsonl", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_an_unknown_recipe_suggests_a_near_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean nougat\?"):
        recipes.train("nouget")


def test_the_formula_recipe_holds_out_what_it_validates_on() -> None:
    trained = {name for stage in FORMULA.stages for name, _ in stage.mix}
    assert not trained & set(FORMULA.held_out)


def test_a_folder_that_is_no_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a prepared dataset"):
        Cache(tmp_path)


def test_the_cache_gives_back_what_was_written(tmp_path: Path) -> None:
    cache = tiny_cache(tmp_path)
    assert [cache.text(number) for number in range(len(cache))] == list(FORMULAS)


def test_a_system_trains_from_scratch_with_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Ran]
) -> None:
    pictures = tmp_path / "mine"
    pictures.mkdir()
    for number, example in enumerate(EXAMPLES * 5):
        example.image.save(pictures / f"{number}.png")
    labels = [f"{number}.png\t{example.target}\n" for number, example in enumerate(EXAMPLES * 5)]
    (pictures / "labels.tsv").write_text("".join(labels))
    monkeypatch.setattr(text_runs, "preset", lambda _: tiny_vit())

    done = run("train", "trocr-small", "--data", pictures, "-o", tmp_path / "run", "--scratch")

    assert done.code == 0, done.err
    model = Path(done.out.strip())
    assert (model / "weights.safetensors").exists()
    assert (tmp_path / "run" / "curves.png").exists()
    assert run("read", pictures / "0.png", "-m", model, "--engine", "torch").code == 0


def test_training_without_data_says_what_is_needed(run: Callable[..., Ran]) -> None:
    done = run("train", "swimnet", "--scratch")
    assert (done.code, done.errors) == (
        1,
        ["Error: training needs --data: a folder of pictures with labels.tsv or metadata.jsonl"],
    )
