"""Fields of receipts: labels from truth strings, and strings from labelled words."""

from datetime import date

import numpy as np
import pytest

from unrender.documents import Box
from unrender.reading.receipt.fields import FIELDS, LABELS, Calibration, field_probabilities, find_fields
from unrender.reading.receipt.keywords import fold
from unrender.reading.receipt.rows import parse_amount, parse_date
from unrender.training.receipt.sets import IGNORED, find_run, label_receipt
from unrender.words import Line, Word, split_lines

RECEIPT = [
    "TAN WOON YANN", "POPULAR BOOK", "CO. (M) SDN BHD", "(CO. NO. 113825-W)", "NO 8, JALAN 7/118B, DESA TUN RAZAK",
    "56000 KUALA LUMPUR, MALAYSIA", "TEL : 03-42601064", "11/02/18 19:21", "PB TAPE 11.80", "TOTAL RM 11.80",
    "CASH 20.00",
]  # fmt: skip
TRUTH = {
    "company": "POPULAR BOOK CO. (M) SDN BHD",
    "date": "11/02/18",
    "address": "NO 8, JALAN 7/118B, DESA TUN RAZAK 56000 KUALA LUMPUR, MALAYSIA",
    "total": "11.80",
}


def words_of(lines: list[str]) -> list[Word]:
    return split_lines([Line(text, Box(0, 20 * n, 10 * len(text), 20 * n + 16)) for n, text in enumerate(lines)])


def certain(labels: list[int]) -> np.ndarray:
    """Probabilities of a model that is sure of these labels."""
    shares = np.zeros((len(labels), len(FIELDS)))
    for place, label in enumerate(labels):
        if label > 0:
            shares[place, FIELDS.index(LABELS[label][2:].lower())] = 0.99
    return shares


def read(lines: list[str], truth: dict[str, str]) -> dict[str, str]:
    words = words_of(lines)
    return {name: found.text for name, found in find_fields(words, certain(label_receipt(words, truth))).items()}


def test_labels_lead_back_to_the_truth():
    assert read(RECEIPT, TRUTH) == TRUTH


def test_labels_begin_and_continue_a_field():
    words = words_of(RECEIPT)
    labels = label_receipt(words, TRUTH)
    named = {word.text: LABELS[label] for word, label in zip(words, labels, strict=True) if label >= 0}
    assert named["POPULAR"] == "B-COMPANY"
    assert named["BHD"] == "I-COMPANY"
    assert named["KUALA"] == "I-ADDRESS"
    assert named["11/02/18"] == "B-DATE"
    assert named["TEL"] == "O"


def test_the_total_is_labelled_where_it_is_called_so_and_ignored_where_it_is_not():
    words = words_of(RECEIPT)
    labels = label_receipt(words, TRUTH)
    amounts = [(word.line, label) for word, label in zip(words, labels, strict=True) if word.text == "11.80"]
    assert amounts == [(8, IGNORED), (9, LABELS.index("B-TOTAL"))]


def test_a_currency_belongs_to_the_total_only_if_the_truth_has_it():
    assert read(["TOTAL RM 9.00"], {"total": "RM 9.00"})["total"] == "RM 9.00"
    assert read(["TOTAL RM 9.00"], {"total": "9.00"})["total"] == "9.00"
    assert read(["TOTAL: $8.20"], {"total": "$8.20"})["total"] == "$8.20"


def test_a_truth_spelled_otherwise_still_finds_its_words():
    words = words_of(["POPULAR BOOL", "CP. (M) SDN BHD", "TEL 123"])
    assert find_run(words, "POPULAR BOOK CO. (M) SDN BHD") == (0, 6)
    assert find_run(words, "ANOTHER SHOP ALTOGETHER") is None
    assert find_run(words, "") is None


def test_a_date_is_taken_out_of_the_word_it_is_glued_to():
    assert read(["DATE:25/07/2017 10:30"], {"date": "25/07/2017"})["date"] == "25/07/2017"


def test_a_date_of_several_words_is_found():
    assert read(["ON 19 APR 2018 18:22"], {"date": "19 APR 2018"})["date"] == "19 APR 2018"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("25/07/2017", date(2017, 7, 25)),
        ("15-06-18", date(2018, 6, 15)),
        ("2018-04-06", date(2018, 4, 6)),
        ("19 APR 2018", date(2018, 4, 19)),
        ("19APR18", date(2018, 4, 19)),
        ("Apr 19, 2018", date(2018, 4, 19)),
        ("20180304", date(2018, 3, 4)),
        ("07/25/2017", date(2017, 7, 25)),
        ("29.02.2016", date(2016, 2, 29)),
        ("31/02/2016", None),
        ("45/13/2016", None),
        ("03-42601064", None),
        ("19:21", None),
    ],
)
def test_only_days_that_exist_are_dates(text, day):
    assert parse_date(text) == day


@pytest.mark.parametrize(
    ("text", "amount"),
    [("RM 1,234.50", 1234.5), ("$8.20", 8.2), ("12,50", 12.5), ("1.234,50", 1234.5), ("43", None), ("", None)],
)
def test_only_amounts_with_cents_are_amounts(text, amount):
    assert parse_amount(text) == amount


def test_what_is_no_date_or_amount_is_never_given_as_one():
    words = words_of(["HELLO WORLD", "NOTHING HERE"])
    shares = np.full((4, 4), 0.9)
    assert set(find_fields(words, shares)) == {"company", "address"}


def test_a_field_that_no_word_is_likely_to_be_is_absent():
    words = words_of([line for line in RECEIPT if not line.startswith(("TOTAL", "CASH", "11/02"))])
    assert find_fields(words, np.full((len(words), 4), 0.01)) == {}


def test_what_is_called_the_total_is_found_even_if_the_network_does_not_know_it():
    words = words_of(["MARKT", "BROT 2,50", "MILCH 1,00", "SUMME 3,50", "BAR 5,00", "RUCKGELD 1,50"])
    assert find_fields(words, np.full((len(words), 4), 0.05))["total"].text == "3,50"


def test_the_same_amount_twice_is_likelier_than_another_once():
    words = words_of(["TOTAL 5.00", "TOTAL 5.10", "TOTAL 5.00"])
    shares = np.zeros((6, 4))
    shares[[1, 3, 5], 3] = [0.4, 0.5, 0.4]
    found = find_fields(words, shares)["total"]
    assert found.text == "5.00"
    assert found.score > max(find_fields(words[:2], shares[:2])["total"].score, 0.5)


def test_a_weak_word_inside_does_not_cut_a_field():
    words = words_of(["ONE TWO THREE", "FOUR"])
    shares = np.zeros((4, 4))
    shares[:, 0] = [0.9, 0.3, 0.9, 0.1]
    assert find_fields(words, shares)["company"].text == "ONE TWO THREE"


def test_a_company_keeps_to_one_line_unless_the_next_is_as_sure():
    words = words_of(["BRAND", "ACME TRADING (123)"])
    shares = np.zeros((4, 4))
    shares[:, 0] = [0.6, 0.95, 0.95, 0.3]
    assert find_fields(words, shares)["company"].text == "ACME TRADING"
    shares[0, 0] = 0.999
    assert find_fields(words, shares)["company"].text == "BRAND ACME TRADING"


def test_an_address_ends_with_its_line():
    words = words_of(["NO 1 HIGH STREET", "12345 CITY STATE", "TEL 123"])
    shares = np.zeros((9, 4))
    shares[:, 2] = [0.3, 0.9, 0.9, 0.9, 0.9, 0.9, 0.3, 0.2, 0.1]
    assert find_fields(words, shares)["address"].text == "NO 1 HIGH STREET 12345 CITY STATE"


def test_scores_become_probabilities_of_fields():
    scores = np.zeros((1, len(LABELS)), dtype=np.float32)
    scores[0, LABELS.index("B-DATE")] = 20
    assert field_probabilities(scores, LABELS)[0].round(3).tolist() == [0, 1, 0, 0]
    calm = field_probabilities(scores, LABELS, temperature=10)[0, 1]
    assert 0.4 < calm < 0.99


def test_calibration_shifts_the_log_odds():
    assert Calibration().confidence("date", 0.5) == pytest.approx(0.5)
    assert Calibration((1.0,) * 4, (0.0, 2.0, 0.0, 0.0)).confidence("date", 0.5) == pytest.approx(1 / (1 + np.exp(-2)))


def test_folding_takes_accents_away_and_keeps_every_letter_in_its_place():
    assert fold("Setia Álam, Größe 合計") == "SETIA ALAM, GROßE 合計"


def test_letters_are_given_as_they_are_printed():
    words = words_of(["Café Grün", "Hauptstr. 1", "Datum: 03. März 2024"])
    shares = np.full((len(words), 4), 0.001)
    shares[:2, 0], shares[2:4, 2] = 0.99, 0.99
    found = find_fields(words, shares)
    assert found["company"].text == "Café Grün"
    assert found["address"].text == "Hauptstr. 1"
    assert found["date"].text == "03. März 2024"


def test_a_date_glued_to_a_time_is_a_date():
    assert parse_date("04/03/201815:41:52") == date(2018, 3, 4)
    assert parse_date("04/03/20181") is None
