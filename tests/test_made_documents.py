"""Documents that are made up: exact boxes, fields that stand on the page, the same again for the same seed."""

import numpy as np
import pytest

from unrender.reading.receipt.fields import FIELDS, LABELS
from unrender.reading.receipt.rows import parse_amount, parse_date
from unrender.training.receipt.made_documents import make_document
from unrender.training.receipt.made_others import make_other
from unrender.training.receipt.made_receipts import make_marked


@pytest.mark.parametrize("kind", ["receipt", "form", "letter"])
@pytest.mark.parametrize("seed", range(4))
def test_every_box_holds_its_word_and_nothing_is_outside(kind, seed):
    made = make_document(np.random.default_rng(seed), kind)
    values = np.array(made.image)
    boxes = made.page.normalised()
    assert len(made.page.words) > 10
    assert (boxes[:, 2:] >= boxes[:, :2]).all()
    for word in made.page.words:
        inside = values[int(word.box.y0) : int(word.box.y1) + 1, int(word.box.x0) : int(word.box.x1) + 1]
        assert int(inside.max()) - int(inside.min()) > 60, word.text


def test_words_do_not_overlap_within_their_line():
    made = make_document(np.random.default_rng(5), "letter")
    for one, other in zip(made.page.words, made.page.words[1:], strict=False):
        if one.line == other.line:
            assert one.box.x1 <= other.box.x0 + 1


@pytest.mark.parametrize("seed", range(8))
def test_the_fields_of_a_receipt_stand_on_it(seed):
    made = make_document(np.random.default_rng(seed), "receipt")
    text = " ".join(made.page.texts)
    assert set(made.fields) == set(FIELDS)
    for name in FIELDS:
        assert made.fields[name] in text
    assert parse_amount(made.fields["total"]) is not None
    assert not made.fields["date"] or parse_date(made.fields["date"]) is not None


def test_the_same_seed_makes_the_same_document():
    one, two = (make_document(np.random.default_rng(3)) for _ in range(2))
    assert one.page == two.page
    assert np.array_equal(np.array(one.image), np.array(two.image))


@pytest.mark.parametrize("seed", range(6))
def test_the_words_of_a_marked_receipt_are_labelled_with_its_fields(seed):
    made = make_marked(np.random.default_rng(seed))
    document = made.document
    by_field = dict.fromkeys(FIELDS, "")
    for word, label in zip(document.page.words, made.labels, strict=True):
        if label > 0:
            by_field[LABELS[label][2:].lower()] += f" {word.text}"
    assert document.fields["company"] == by_field["company"].strip()
    assert document.fields["address"] == by_field["address"].strip()
    assert document.fields["total"] in by_field["total"]
    assert parse_amount(document.fields["total"]) is not None
    assert parse_date(document.fields["date"]) is not None
    assert not any("|" in word.text for word in document.page.words)


@pytest.mark.parametrize("seed", range(4))
def test_other_documents_have_words_and_no_fields(seed):
    made = make_other(np.random.default_rng(seed))
    assert made.fields == {}
    assert len(made.page.words) > 10
