import itertools

import numpy as np
import pytest

from tests.fakes import END, HistoryRun, PlayedRun, ScriptedRun
from unrender.decoding import Text, beam, greedy, search
from unrender.decoding.paths import BeamPaths, Decoded, EarlyStopping, GreedyPath
from unrender.decoding.rules import Guard, Ids, Rules, Scores
from unrender.errors import ConfigError, ModelError


def prompt(rows: int) -> Ids:
    return np.zeros((rows, 1), dtype=np.int64)


def test_each_sequence_stops_at_its_own_end():
    run = ScriptedRun([5, END, 9], [7, 8, END])
    results = greedy(run, prompt(2), end=END, max_tokens=8)
    assert results == [Decoded((5,), True), Decoded((7, 8), True)]


def test_a_sequence_without_end_is_reported_incomplete():
    [result] = greedy(ScriptedRun([5, 6]), prompt(1), end=END, max_tokens=2)
    assert result == Decoded((5, 6), complete=False)
    assert result.status == "limit"


def test_an_end_that_comes_at_once_gives_an_empty_complete_sequence():
    [result] = greedy(ScriptedRun([END]), prompt(1), end=END, max_tokens=4)
    assert result == Decoded((), complete=True)
    assert result.status == "complete"


def test_no_rows_give_no_results():
    assert greedy(ScriptedRun(), prompt(0), end=END, max_tokens=4) == []
    assert beam(ScriptedRun(), prompt(0), beams=2, end=END, max_tokens=4) == []


def test_the_whole_prompt_is_fed_first_and_one_token_a_row_after_it():
    run = ScriptedRun([5, 6, END])
    greedy(run, np.array([[9, 8, 7]]), end=END, max_tokens=8)
    assert [step.tolist() for step in run.fed] == [[[9, 8, 7]], [[5]], [[6]]]


def test_finished_rows_leave_the_batch():
    run = ScriptedRun([END], [5, 6, 7, END])
    greedy(run, prompt(2), end=END, max_tokens=8)
    assert [len(step) for step in run.fed] == [2, 1, 1, 1]


@pytest.mark.parametrize("beams", [1, 4])
def test_a_batch_gives_the_tokens_that_single_reads_give(beams: int):
    seeds = [3, 1, 4, 15, 92]

    def read(*chosen: int) -> list[Decoded]:
        run, start = HistoryRun(*chosen), prompt(len(chosen))
        if beams == 1:
            return greedy(run, start, end=END, max_tokens=30)
        return beam(run, start, beams=beams, end=END, max_tokens=30)

    together, alone = read(*seeds), [read(seed)[0] for seed in seeds]
    assert together == alone
    assert [result.log_probabilities for result in together] == [result.log_probabilities for result in alone]
    assert len({len(result.tokens) for result in together}) > 2


def test_forbidden_tokens_never_appear_but_the_end_cannot_be_forbidden():
    run = ScriptedRun([5, 6, END])
    [result] = greedy(run, prompt(1), end=END, max_tokens=8, forbidden=[5, END])
    assert result == Decoded((0, 6), complete=True)


def test_log_probabilities_are_those_of_the_softmax_before_anything_is_forbidden():
    scores = np.log(np.array([[0.1, 0.5, 0.15, 0.25]], dtype=np.float32))
    [result] = greedy(PlayedRun(scores), prompt(1), end=2, max_tokens=1, forbidden=[1])
    assert result.tokens == (3,)
    assert np.exp(result.log_probabilities[0]) == pytest.approx(0.25, rel=1e-5)


def test_alternatives_are_the_next_best_allowed_tokens_without_the_end():
    scores = np.log(np.array([[0.05, 0.4, 0.3, 0.15, 0.06, 0.04]], dtype=np.float32))
    [result] = greedy(PlayedRun(scores), prompt(1), end=2, max_tokens=1, forbidden=[4])
    [others] = result.alternatives
    assert [other.token for other in others] == [3, 0, 5]
    assert [other.probability for other in others] == pytest.approx([0.15, 0.05, 0.04], rel=1e-5)


def test_alternatives_can_be_turned_off():
    [result] = greedy(ScriptedRun([5, END]), prompt(1), end=END, max_tokens=4, alternatives=0)
    assert result.alternatives == ((),)


def test_the_score_of_a_greedy_sequence_includes_the_end_token():
    [result] = greedy(HistoryRun(3), prompt(1), end=END, max_tokens=30)
    assert result.complete
    assert result.score == pytest.approx(sum(result.log_probabilities) + result.end_log_probability)


@pytest.mark.parametrize("beams", [1, 3])
def test_attention_of_the_run_is_kept_for_each_token(beams: int):
    decode = greedy(HistoryRun(3), prompt(1), end=END, max_tokens=9) if beams == 1 else None
    [result] = decode or beam(HistoryRun(3), prompt(1), beams=beams, end=END, max_tokens=9)
    assert [int(row[0]) for row in result.attention] == [2 + place for place in range(len(result.tokens))]


class Waiting:
    """Brings in the texts of a run one after the other, as many at once as there is room for."""

    def __init__(self, run: HistoryRun | ScriptedRun, *texts: Text) -> None:
        self.run = run
        self._texts = list(texts)

    def enter(self, active: int) -> list[Text]:
        entering, self._texts = self._texts, []
        return entering


def text(beams: int, **following: object) -> Text:
    rules = Rules(END, 8, (), None, 3)
    path = GreedyPath(rules, None) if beams == 1 else BeamPaths(rules, beams, 1.0, False)
    return Text(path=path, feed=[[0]], **following)


@pytest.mark.parametrize("beams", [1, 3])
def test_who_listens_hears_the_best_tokens_grow(beams: int):
    heard: list[tuple[int, ...]] = []
    run = ScriptedRun([7, 8, END])
    [found] = search(Waiting(run, text(beams, hear=lambda tokens: heard.append(tuple(tokens)))))
    assert heard[:2] == [(7,), (7, 8)]
    assert found.path.result() == Decoded((7, 8), True)


@pytest.mark.parametrize("beams", [1, 3])
def test_a_text_that_nobody_wants_any_more_leaves_the_batch_and_the_others_go_on(beams: int):
    answers = iter([True, False])
    run = ScriptedRun([5, 6, 7, 8, END], [5, 6, 7, END])
    unwanted, wanted = text(beams, wanted=lambda: next(answers)), text(beams)
    first, second = search(Waiting(run, unwanted, wanted))
    assert (first, second) == (unwanted, wanted)
    assert (first.stopped, second.stopped) == (True, False)
    assert second.path.result() == Decoded((5, 6, 7), True)
    assert [len(step) for step in run.fed][:3] == ([2, 2, 1] if beams == 1 else [2, 6, 3])


@pytest.mark.parametrize("beams", [1, 3])
def test_a_constraint_sees_the_tokens_so_far_and_decides_what_may_follow(beams: int):
    def rising(tokens: list[int]) -> np.ndarray:
        mask = np.arange(12) > max(tokens, default=2)
        mask[END] = len(tokens) >= 3
        return mask

    run = HistoryRun(8)
    if beams == 1:
        [result] = greedy(run, prompt(1), end=END, max_tokens=30, constraint=rising)
    else:
        [result] = beam(run, prompt(1), beams=beams, end=END, max_tokens=30, constraint=rising)
    assert result.complete
    assert len(result.tokens) >= 3
    assert list(result.tokens) == sorted(set(result.tokens))


@pytest.mark.parametrize("beams", [1, 3])
def test_a_constraint_that_leaves_no_way_on_ends_the_sequence_as_incomplete(beams: int):
    def nothing_after_two(tokens: list[int]) -> np.ndarray:
        mask = np.full(12, len(tokens) < 2)
        mask[END] = False
        return mask

    if beams == 1:
        [result] = greedy(HistoryRun(1), prompt(1), end=END, max_tokens=9, constraint=nothing_after_two)
    else:
        [result] = beam(HistoryRun(1), prompt(1), beams=beams, end=END, max_tokens=9, constraint=nothing_after_two)
    assert len(result.tokens) == 2
    assert not result.complete


def test_scores_that_are_not_numbers_are_refused():
    with pytest.raises(ModelError, match="not numbers"):
        greedy(PlayedRun(np.full((1, 4), np.nan, dtype=np.float32)), prompt(1), end=END, max_tokens=1)


@pytest.mark.parametrize(("beams", "max_tokens"), [(1, 0), (0, 5)])
def test_limits_below_one_are_refused(beams: int, max_tokens: int):
    with pytest.raises(ConfigError, match="at least 1"):
        beam(ScriptedRun([5]), prompt(1), beams=beams, end=END, max_tokens=max_tokens)


def test_one_beam_finds_what_greedy_finds():
    seeds = range(6)
    single = beam(HistoryRun(*seeds), prompt(6), beams=1, end=END, max_tokens=20, early_stopping=True)
    assert single == greedy(HistoryRun(*seeds), prompt(6), end=END, max_tokens=20)


def test_a_wide_beam_finds_the_best_of_all_sequences():
    length, vocabulary = 3, 5
    [result] = beam(HistoryRun(7, vocabulary=vocabulary), prompt(1), beams=64, end=END, max_tokens=length)
    assert (result.tokens, result.score) == _best_by_trying_all(7, vocabulary, length)


def test_runners_up_come_best_first_and_differ():
    [result] = beam(HistoryRun(5), prompt(1), beams=4, end=END, max_tokens=12)
    ranked = [result, *result.runners_up]
    assert len({other.tokens for other in ranked}) == 4
    assert [other.score for other in ranked] == sorted((other.score for other in ranked), reverse=True)


def test_a_beam_score_is_the_log_probability_over_the_length_to_the_penalty():
    [result] = beam(HistoryRun(5), prompt(1), beams=4, end=END, max_tokens=40, length_penalty=0.7)
    assert result.complete
    total = sum(result.log_probabilities) + result.end_log_probability
    assert result.score == pytest.approx(total / (len(result.tokens) + 1) ** 0.7, rel=1e-5)


@pytest.mark.parametrize("early_stopping", [False, True, "never"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0, -1.0])
def test_beam_search_gives_the_tokens_and_scores_of_transformers(length_penalty: float, early_stopping: EarlyStopping):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=24, n_positions=40, n_embd=32, n_layer=1, n_head=2, initializer_range=0.9)
    model = GPT2LMHeadModel(config).eval()
    starts = np.array([[5, 3], [9, 1], [0, 7]])
    expected = model.generate(
        torch.tensor(starts), attention_mask=torch.ones(3, 2), num_beams=4, num_return_sequences=4, max_length=20,
        do_sample=False, eos_token_id=END, pad_token_id=1, bad_words_ids=[[4]], length_penalty=length_penalty,
        early_stopping=early_stopping, return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    found = beam(
        _ModelRun(model), starts, beams=4, end=END, max_tokens=18, length_penalty=length_penalty,
        early_stopping=early_stopping, forbidden=[4],
    )  # fmt: skip
    ranked = [decoded for result in found for decoded in (result, *result.runners_up)]
    assert [_until_end(row) for row in expected.sequences[:, 2:].tolist()] == [list(row.tokens) for row in ranked]
    assert expected.sequences_scores.numpy() == pytest.approx([row.score for row in ranked], rel=1e-5)


def test_a_sequence_that_loops_is_stopped_and_cut_and_says_so():
    rng = np.random.default_rng(0)
    scores = _played(np.concatenate([rng.normal(10, 6, size=400), np.full(3600, 10.0)]))
    [result] = greedy(PlayedRun(scores), prompt(1), end=END, max_tokens=4000, guard=Guard())
    assert result.status == "repetition"
    assert result.cut == len(result.tokens) == len(result.log_probabilities)
    assert 400 <= len(result.tokens) < 700


def test_a_loop_from_the_beginning_leaves_nothing():
    [result] = greedy(PlayedRun(_played(np.full(2000, 9.0))), prompt(1), end=END, max_tokens=2000, guard=Guard())
    assert result == Decoded((), complete=False, cut=0)


def test_lively_text_that_meets_the_limit_is_not_called_a_repetition():
    rng = np.random.default_rng(1)
    scores = _played(rng.normal(10, 6, size=1500))
    [result] = greedy(PlayedRun(scores), prompt(1), end=END, max_tokens=1500, guard=Guard())
    assert result.status == "limit"
    assert len(result.tokens) == 1500


def test_a_steady_sequence_that_ends_by_itself_is_complete():
    scores = _played(np.full(300, 9.0))
    scores[-1, END] = 20.0
    [result] = greedy(PlayedRun(scores), prompt(1), end=END, max_tokens=2000, guard=Guard())
    assert result.status == "complete"
    assert len(result.tokens) == 299


def _played(best_scores: np.ndarray) -> Scores:
    scores = np.full((len(best_scores), 6), -50.0, dtype=np.float32)
    scores[:, 5] = best_scores
    return scores


def _until_end(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(END)] if END in tokens else tokens


def _best_by_trying_all(seed: int, vocabulary: int, length: int) -> tuple[tuple[int, ...], object]:
    found: dict[tuple[int, ...], float] = {}
    for tokens in itertools.product(range(vocabulary), repeat=length):
        run, last, total = HistoryRun(seed, vocabulary=vocabulary), 0, 0.0
        stop = tokens.index(END) + 1 if END in tokens else length
        for token in tokens[:stop]:
            scores = run.step(np.array([[last]]))[0].astype(np.float64)
            total += scores[token] - np.log(np.exp(scores).sum())
            last = token
        found[tokens[: tokens.index(END)] if END in tokens else tokens] = total / stop
    best = max(found, key=lambda tokens: found[tokens])
    return best, pytest.approx(found[best], abs=1e-5)


class _ModelRun:
    """A transformers language model without a cache."""

    def __init__(self, model) -> None:
        self._model, self._fed = model, None

    def step(self, tokens: Ids) -> Scores:
        import torch

        self._fed = tokens if self._fed is None else np.concatenate([self._fed, tokens], axis=1)
        with torch.no_grad():
            return self._model(torch.tensor(self._fed)).logits[:, -1].numpy()

    def reorder(self, rows: Ids) -> None:
        self._fed = self._fed[rows]
