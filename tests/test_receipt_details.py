"""What else a receipt says: amounts, days, tax, payment, goods; and whether a page is a receipt at all."""

from datetime import date

import numpy as np
import pytest

from unrender.documents import Box
from unrender.reading.labels import UNLIKELY, likeness
from unrender.reading.receipt.clues import is_american
from unrender.reading.receipt.details import Details, Item, TaxLine, _tax, find_details, find_items
from unrender.reading.receipt.fields import find_fields
from unrender.reading.receipt.rows import Row, find_currency, find_rows, parse_amount, parse_date, parse_time
from unrender.words import Line, Word, split_lines

KASSENBON = [
    ("Frischemarkt Lindner", ""), ("Hauptstr. 4", ""), ("10115 Berlin", ""), ("Tel. 030 / 23 12 445", ""),
    ("Vollmilch", "1,19 A"), ("Bananen", ""), ("  2 x 0,99", "1,98 A"), ("3 Brezeln", "2,40 B"),
    ("Zwischensumme", "5,57"), ("SUMME EUR", "5,57"), ("Girocard", "5,57"), ("MwSt 7%", "0,36"),
    ("Datum: 03.04.2024", "18:22"), ("Vielen Dank", ""),
]  # fmt: skip
TABLE = [("Area", ""), ("Austria", "83.87"), ("Belgium", "30.52"), ("Croatia", "56.59")]


def words_of(pairs: list[tuple[str, str]]) -> list[Word]:
    lines = []
    for number, (left, right) in enumerate(pairs):
        for text, x in ((left, 10), (right, 400)):
            if text:
                lines.append(Line(text, Box(x, 20 * number, x + 9 * len(text), 20 * number + 15)))
    return split_lines(lines)


def rows_of(*texts: str) -> list[Row]:
    return find_rows(words_of([(text, "") for text in texts]))


def nothing_known(words: list[Word]) -> np.ndarray:
    """What a network says that has never seen such a receipt."""
    return np.full((len(words), 4), 0.02)


def details_of(pairs: list[tuple[str, str]]) -> Details:
    words = words_of(pairs)
    return find_details(find_rows(words), find_fields(words, nothing_known(words)))


def test_a_german_receipt_is_read_by_its_words_alone():
    assert details_of(KASSENBON) == Details(
        currency="EUR",
        amount=5.57,
        iso_date="2024-04-03",
        time="18:22",
        tax=(TaxLine(7.0, 0.36),),
        payment="card",
        phone="030 / 23 12 445",
        items=(Item("Vollmilch", 1.0, 1.19), Item("Bananen", 2.0, 1.98), Item("Brezeln", 3.0, 2.4)),
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("MwSt 7% A netto 9,05 0,63", "MwSt 19% B netto 1,50 0,29"),
        ("MwSt% Netto MwSt Brutto", "A 7,0% 9,05 0,63 9,68", "B 19,0% 1,50 0,29 1,79"),
        ("TVA 7% HT 9,05 TVA 0,63", "TVA 19% HT 1,50 TVA 0,29"),
    ],
)
def test_tax_is_found_beside_its_net_amount_and_below_the_head_of_a_table(texts):
    assert _tax(rows_of(*texts), 11.47) == (TaxLine(7.0, 0.63), TaxLine(19.0, 0.29))


def test_a_discount_in_per_cent_is_no_tax():
    assert _tax(rows_of("Rabatt 10% 5,00 0,50"), 11.47) == ()


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("Croissant x2 2,60", Item("Croissant", 2.0, 2.6)),
        ("2 x Meal Deal £7.80", Item("Meal Deal", 2.0, 7.8)),
        ("2x Tea 4.00", Item("Tea", 2.0, 4.0)),
        ("Pizza 2 x 4,50 9,00", Item("Pizza", 2.0, 9.0)),
    ],
)
def test_how_many_of_a_good_is_not_part_of_its_name(text, item):
    assert find_items(rows_of(text), None) == (item,)


@pytest.mark.parametrize(("text", "value"), [("-£1.00", -1.0), ("£-1.00", -1.0), ("-1,00", -1.0), ("£1.00", 1.0)])
def test_a_minus_may_stand_before_the_currency(text, value):
    assert parse_amount(text) == value
    [money] = rows_of(f"Saved {text}")[0].amounts
    assert money.value == value


def test_what_is_not_there_is_null():
    assert find_details([], {}).as_json() == dict.fromkeys(Details().as_json())


def test_the_subtotal_cash_and_change_are_not_the_total():
    words = words_of(
        [("Sub-total", "9.00"), ("VAT 20%", "1.80"), ("To pay", "10.80"), ("Cash", "20.00"), ("Change", "9.20")]
    )
    assert find_fields(words, nothing_known(words))["total"].text == "10.80"


@pytest.mark.parametrize(
    "word",
    [
        "TOTAL TTC", "Net à payer", "SUMME", "Zu zahlen", "TOTALE COMPLESSIVO", "Te betalen", "Total a pagar",
        "Amount due",
    ],
)  # fmt: skip
def test_the_total_is_known_by_its_name(word):
    words = words_of([("Bread", "2,00"), ("Cheese", "3,50"), (word, "5,50"), ("Merci", "")])
    assert find_fields(words, nothing_known(words))["total"].text == "5,50"


def test_a_day_until_which_something_is_valid_is_not_the_date():
    words = words_of([("Datum 01.02.2024", "10:15"), ("Gültig bis 01.03.2024", ""), ("SUMME", "2,00")])
    assert find_fields(words, nothing_known(words))["date"].text == "01.02.2024"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("03. März 2024", date(2024, 3, 3)),
        ("3 août 2023", date(2023, 8, 3)),
        ("1er juin 2024", date(2024, 6, 1)),
        ("31 de octubre de 2018", date(2018, 10, 31)),
        ("12 maggio 2021", date(2021, 5, 12)),
        ("10 mei 2020", date(2020, 5, 10)),
        ("12 / 03 / 24", date(2024, 3, 12)),
        ("19,00 % 24", None),
    ],
)
def test_months_are_known_in_six_languages(text, day):
    assert parse_date(text) == day


def test_the_month_comes_first_where_people_write_it_so():
    assert parse_date("03/04/2024", month_first=True) == date(2024, 3, 4)
    assert parse_date("2024-03-04", month_first=True) == date(2024, 3, 4)
    assert is_american(rows_of("Main St", "Austin, TX 78701", "TOTAL $5.00"))
    assert not is_american(rows_of("10115 Berlin", "SUMME 5,00 EUR"))


@pytest.mark.parametrize(
    ("text", "time"), [("18:22:10", "18:22"), ("6:05 PM", "18:05"), ("à 14h32", "14:32"), ("12.50", None)]
)
def test_times_are_written_alike(text, time):
    assert parse_time(text) == time


@pytest.mark.parametrize(
    ("text", "code"), [("5,00 €", "EUR"), ("RM 9.00", "MYR"), ("£3.20", "GBP"), ("$ 1.00", "USD"), ("FARM 5", None)]
)
def test_a_currency_is_known_by_its_sign(text, code):
    assert find_currency([text]) == code


def test_goods_go_on_after_a_rebate():
    items = find_items(rows_of("Milk £1.45", "Clubcard saving -£1.00", "Rabatt -0,50", "Tea £2.00", "Total £1.95"), 9.0)
    assert [item.price for item in items] == [1.45, -1.0, -0.5, 2.0]


def test_goods_end_where_the_sums_begin():
    rows = find_rows(
        words_of([("SHOP", ""), ("2 Tea", "4.00"), ("Cake 3x", "9.00"), ("TOTAL", "13.00"), ("VISA", "13.00")])
    )
    assert find_items(rows, 13.0) == (Item("Tea", 2.0, 4.0), Item("Cake", 3.0, 9.0))


def test_a_table_is_no_receipt_and_a_receipt_is_one():
    for pairs, is_one in ((TABLE, False), (KASSENBON, True)):
        words = words_of(pairs)
        chance = likeness(find_rows(words), find_fields(words, nothing_known(words)))
        assert (chance >= UNLIKELY) == is_one


SHOP = [("Kedai Maju Sdn Bhd", ""), ("Jalan Besar 4", ""), ("Sugar", "4.20"), ("Rice", "9.90"), ("Oil", "14.39")]


@pytest.mark.parametrize(
    "last",
    [
        ("TOTAL 0% SUPPLIES:", "28.50"),
        ("TOTAL SALES (EXCLUDING GST)", "28.50"),
        ("TOTAL", "28.49"),  # before it is rounded: Malaysia pays in steps of five sen
        ("Salt", "28.50"),
    ],
)
def test_a_receipt_that_ends_before_its_total_has_none(last):
    words = words_of([*SHOP, last])
    assert "total" not in find_fields(words, np.full((len(words), 4), 0.3))


@pytest.mark.parametrize("after", [[("ROUNDING", "0.01"), ("CASH", "30.00"), ("CHANGE", "1.50")], [("THANK YOU", "")]])
def test_a_receipt_that_goes_on_to_its_total_has_it(after):
    words = words_of([*SHOP, ("TOTAL", "28.50"), *after])
    assert find_fields(words, np.full((len(words), 4), 0.3))["total"].text == "28.50"
