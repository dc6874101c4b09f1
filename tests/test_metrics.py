import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender.metrics import (
    Interval,
    accuracy_folded,
    bleu,
    calibration_error,
    cer,
    edit,
    entity_f1,
    exact,
    exp_rate,
    field_f1,
    find_entities,
    meteor,
    normalised_distance,
    on_part,
    order_errors,
    score_records,
    tree_accuracy,
    valid,
    wer,
    wer_visible,
    word_set_f1,
)
from unrender.metrics.fields import Entity, _change, _Node, _tree, tree_distance
from unrender.metrics.pages import take_part
from unrender.metrics.sequences import visible

RECEIPT = {"menu": [{"name": "cake", "count": "2"}, {"name": "juice", "count": "1"}], "total": {"price": "9.50"}}


def test_twenty_wrong_words_for_a_reference_of_ten_are_an_error_rate_of_two():
    assert wer(["w " * 10], ["x " * 20]).value == 2.0


def test_a_rate_divides_the_sums_over_the_set():
    assert wer(["a b c d", "e"], ["a b c d", "f"]).value == pytest.approx(1 / 5)


def test_substitutions_insertions_and_deletions_count_one_each():
    assert wer(["a b c d"], ["a x c"]).value == pytest.approx(2 / 4)
    assert wer(["a b"], ["a b c"]).value == pytest.approx(1 / 2)


def test_an_empty_reference_counts_as_one_word():
    assert wer([""], ["a b"]).value == 2.0
    assert wer([], []).value == 0.0


def test_references_and_predictions_must_pair_up():
    with pytest.raises(AssertionError, match="1 references, 2 predictions"):
        wer(["a"], ["a", "b"])


def test_spacing_tokens_are_not_visible():
    text = r"a \, \; \: \! ~ \ b \quad \qquad \enspace \hspace { 1 . 5 c m } c \hspace* { \fill } d"
    assert visible(text) == ["a", "b", "c", "d"]


def test_a_spacing_command_without_its_group_hides_nothing_else():
    assert visible(r"\hspace a b") == ["a", "b"]
    assert visible(r"a \hspace") == ["a"]
    assert visible(r"\hspace { 1 { 2 } } x") == ["x"]


def test_spacing_does_not_change_the_visible_error_rate():
    reference, prediction = r"a \, = \quad b", r"a = b"
    assert wer([reference], [prediction]).value == pytest.approx(2 / 5)
    assert wer_visible([reference], [prediction]).value == 0.0


def test_character_error_rate_counts_characters_and_folds_white_space():
    assert cer(["kitten"], ["sitting"]).value == pytest.approx(3 / 6)
    assert cer(["a  b\n"], [" a b"]).value == 0.0


def test_bleu_is_the_geometric_mean_of_clipped_precisions():
    # 1- to 4-gram precisions 5/6, 4/5, 3/4, 2/3: their product is 1/3
    assert bleu(["a b c d e f"], ["a b c d e g"]).value == pytest.approx((1 / 3) ** 0.25)


def test_bleu_punishes_a_short_prediction():
    assert bleu(["a b c d e f"], ["a b c d"]).value == pytest.approx(math.exp(1 - 6 / 4))


def test_bleu_clips_repeated_words():
    # matches 4+2+1+1 clipped from 8, 7, 6, 5 grams
    assert bleu(["a b a b"], ["a b a b a b a b"]).value == pytest.approx((4 / 8 * 3 / 7 * 2 / 6 * 1 / 5) ** 0.25)


def test_bleu_adds_counts_over_the_set_before_it_divides():
    joint = bleu(["a b c d", "e f g h i"], ["a b c d", "e f g x i"])
    assert joint.value == pytest.approx((8 / 9 * 5 / 7 * 3 / 5 * 1 / 3) ** 0.25)


def test_bleu_without_any_common_four_words_is_zero():
    assert bleu(["a b c"], ["a b c"]).value == 0.0


def test_edit_accuracy_divides_by_the_longer_lengths():
    # distances 1 and 2, longer lengths 3 and 5
    assert edit(["a b c", "a b c"], ["a x c", "a b c d e"]).value == pytest.approx(1 - 3 / 8)
    assert edit([""], [""]).value == 1.0


def test_exact_looks_at_all_words_and_the_expression_rate_at_the_visible_ones():
    references, predictions = [r"a \, b", "a b c d e"], ["a  b", "a x c d y"]
    assert exact(references, predictions).value == 0.0
    assert exact(["a b"], [" a  b"]).value == 1.0
    rates = [exp_rate(references, predictions, errors).value for errors in range(3)]
    assert rates == [0.5, 0.5, 1.0]


def test_the_valid_share_asks_the_checker():
    assert valid(["{ }", "{", "x"], lambda text: text.count("{") == text.count("}")).value == pytest.approx(2 / 3)


def test_page_metrics_follow_nougat():
    assert normalised_distance(["abcd", "x"], ["abce", "y"]).value == pytest.approx(1 / 4)
    assert word_set_f1(["a b c"], ["a b b d"]).value == pytest.approx(4 / 6)


PAGE = r"""# Title

Let \(x\) be $y + 1$ for 5$ or \$6.

\[ E = m \]

| a | b |
|---|---|
| 1 | 2 |

\begin{tabular}{c} 3 \\ 4 \end{tabular} The end.""".replace("\\\\", "\\")


def test_a_page_is_parted_into_text_mathematics_and_tables():
    assert take_part(PAGE, "text") == r"# Title Let be for 5$ or \$6. The end."
    assert take_part(PAGE, "math") == "x y + 1 E = m"
    assert take_part(PAGE, "tables").startswith(r"\begin{tabular}{c} 3")
    assert take_part(PAGE, "tables").endswith("| a | b | |---|---| | 1 | 2 |")
    assert take_part("a\n\n b ", "all") == "a b"


def test_a_part_is_measured_where_the_truth_has_it():
    pages, readings = [r"text \(a + b\)", "text alone"], ["text", r"text alone \(c\)"]
    found = on_part("math", normalised_distance)(pages, [r"text \(a + c\)", r"\(c + d\)"])
    assert (found.value, found.samples) == (pytest.approx(1 / 5), 1)
    assert on_part("text", exact)(pages, readings).value == 1.0


def test_meteor_is_that_of_its_definition():
    assert meteor(["the cat sat"], ["the cat sat"]).value == pytest.approx(1 - 0.5 / 27)
    precision, recall = 2 / 2, 2 / 3  # two words in one chunk
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    assert meteor(["The cat sat"], ["the cat"]).value == pytest.approx(mean * (1 - 0.5 / 8))
    assert meteor(["the cat sat"], ["sat cat"]).value == pytest.approx(mean * (1 - 0.5))  # two chunks of two words
    assert meteor(["a", ""], ["b", ""]).value == 0.5


def test_order_errors_count_the_pairs_of_blocks_that_changed_places():
    blocks = ["first things come first", "then the second block", "and at last the third"]
    page = "\n\n".join(blocks)
    assert order_errors([page], [page]).value == 0.0
    assert order_errors([page], ["\n\n".join(reversed(blocks))]).value == 1.0
    turned = "\n\n".join([blocks[1].upper().lower(), "something else entirely 123", blocks[0] + "!", blocks[2]])
    assert order_errors([page], [turned]).value == pytest.approx(1 / 3)
    assert order_errors(["one"], ["zzz"]).value == 0.0


def test_a_word_may_be_judged_by_its_letters_and_digits_alone():
    assert accuracy_folded(["Shop-24!", "tea"], ["SHOP 24", "ten"]).value == 0.5


def test_records_are_right_field_by_field():
    truths = [{"company": "ACME  Trading", "total": "9.90"}, {"company": "ACME", "total": ""}]
    found = [{"company": "acme trading", "total": "9.9 0"}, {"total": "1.00"}]
    scores = {name: float(value) for name, value in score_records(truths, found, ["company", "total"]).items()}
    assert scores["field_f1"] == pytest.approx(2 * 1 / (3 + 3))
    assert scores["field_f1_without_spaces"] == pytest.approx(2 * 2 / (3 + 3))
    assert (scores["company_precision"], scores["company_recall"], scores["total_f1"]) == (1.0, 0.5, 0.0)


def test_field_f1_counts_path_and_value_pairs_as_multisets():
    prediction = {"menu": [{"name": "cake", "count": "2"}, {"name": "juice", "count": "7"}], "total": {"price": "9.50"}}
    # 4 of 5 pairs are right, one is wrong on both sides
    assert field_f1([RECEIPT], [prediction]).value == pytest.approx(4 / (4 + 2 / 2))
    assert field_f1([{"a": ["x", "x"]}], [{"a": "x"}]).value == pytest.approx(1 / (1 + 1 / 2))


def test_field_f1_ignores_key_order_empty_values_and_outer_spaces():
    prediction = {"total": {"price": " 9.50 ", "tax": ""}, "note": None, "menu": RECEIPT["menu"], "x": [], "y": {}}
    assert field_f1([RECEIPT], [prediction]).value == 1.0
    assert tree_accuracy([RECEIPT], [prediction]).value == 1.0


def test_numbers_compare_as_their_text():
    assert field_f1([{"count": 0}], [{"count": "0"}]).value == 1.0


def test_tree_accuracy_is_the_share_of_the_tree_that_need_not_be_rebuilt():
    # Whole tree of {"a": "xyz", "b": "uv"}: two keys and five characters cost 7; one character is wrong.
    assert tree_accuracy([{"a": "xyz", "b": "uv"}], [{"a": "xyw", "b": "uv"}]).value == pytest.approx(1 - 1 / 7)
    # A missing key costs itself and its leaf.
    assert tree_accuracy([{"a": "xyz", "b": "uv"}], [{"a": "xyz"}]).value == pytest.approx(1 - 3 / 7)


def test_tree_accuracy_is_never_negative():
    assert tree_accuracy([{"a": "x"}], [{"b": "a long wrong answer"}]).value == 0.0
    assert tree_accuracy([{}], [{}]).value == 1.0
    assert tree_accuracy([{}], [{"a": "x"}]).value == 0.0


@given(
    *[
        st.recursive(
            st.sampled_from(["x", "xy", "abc"]),
            lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2),
            max_leaves=5,
        )
    ]
    * 2
)
@settings(max_examples=60, deadline=None)
def test_the_tree_distance_is_the_cheapest_by_trying_everything(one: object, other: object):
    assert tree_distance(_tree(one), _tree(other)) == _cheapest((_tree(one),), (_tree(other),))


@pytest.mark.parametrize(
    ("labels", "entities"),
    [
        (["B-A", "I-A", "O", "B-B"], [Entity("A", 0, 2), Entity("B", 3, 4)]),
        (["B-A", "B-A"], [Entity("A", 0, 1), Entity("A", 1, 2)]),
        (["I-A", "I-A"], [Entity("A", 0, 2)]),
        (["B-A", "I-B"], [Entity("A", 0, 1), Entity("B", 1, 2)]),
        (["O", "O"], []),
        (["O", "I-long-name"], [Entity("long-name", 1, 2)]),
        ([], []),
    ],
)
def test_entities_follow_the_bio_rules(labels: list[str], entities: list[Entity]):
    assert find_entities(labels) == entities


def test_entity_f1_wants_label_and_both_ends_right():
    reference = ["B-A", "I-A", "O", "B-B", "O", "B-B"]
    prediction = ["B-A", "I-A", "O", "B-A", "O", "B-B"]
    scores = entity_f1([reference, ["B-A", "I-A"]], [prediction, ["B-A", "O"]])
    # expected 4, found 4, right 2
    assert (scores.precision.value, scores.recall.value, scores.f1.value) == (0.5, 0.5, 0.5)
    assert scores.labels == (("A", pytest.approx(2 * 1 / (3 + 2))), ("B", pytest.approx(2 * 1 / (1 + 2))))


def test_no_entities_at_all_score_zero():
    assert entity_f1([["O"]], [["O"]]).f1.value == 0.0


def test_calibration_error_weighs_each_bin_by_its_size():
    confidences, correct = [0.95, 0.95, 0.95, 0.95, 0.55], [True, True, True, False, True]
    assert calibration_error(confidences, correct).value == pytest.approx(0.8 * abs(0.95 - 0.75) + 0.2 * 0.45)
    assert calibration_error([1.0, 0.0], [True, False]).value == 0.0


def test_a_bootstrap_interval_is_reproducible_and_holds_the_value():
    rng = np.random.default_rng(5)
    references = ["a b c d"] * 200
    predictions = ["a b c d" if right else "a b c x" for right in rng.random(200) < 0.6]
    rate = wer(references, predictions)
    interval = rate.interval(np.random.default_rng(1))
    assert interval == rate.interval(np.random.default_rng(1))
    assert interval.low < rate.value < interval.high
    # The error of a share of 0.4 over 200 samples is about sqrt(0.4 * 0.6 / 200); one word in four is at stake.
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * math.sqrt(0.24 / 200) / 4, rel=0.15)


def test_the_interval_of_a_certain_value_is_that_value():
    assert exact(["a"] * 9, ["a"] * 9).interval(np.random.default_rng(0)) == Interval(1.0, 1.0)
    assert exact([], []).interval(np.random.default_rng(0)) == Interval(0.0, 0.0)


@cache
def _cheapest(ours: tuple[_Node, ...], theirs: tuple[_Node, ...]) -> int:
    """Turn one forest into the other by the definition: remove, insert or match the last root."""
    if not ours and not theirs:
        return 0
    options = []
    if ours:
        options.append(_cheapest((*ours[:-1], *ours[-1].children), theirs) + ours[-1].cost)
    if theirs:
        options.append(_cheapest(ours, (*theirs[:-1], *theirs[-1].children)) + theirs[-1].cost)
    if ours and theirs:
        inside = _cheapest(ours[-1].children, theirs[-1].children)
        options.append(_cheapest(ours[:-1], theirs[:-1]) + inside + _change(ours[-1], theirs[-1]))
    return min(options)
