"""The grammar of Donut's tags: whatever a model prefers, its tags balance and its leaves are what they should be."""

import numpy as np
import pytest

from unrender.decoding.tags import TagGrammar, fits
from unrender.formats.json import parse_tags
from unrender.models.config import FieldRule
from unrender.models.donut import RECEIPT_RULES, SMALL_TOKENS, tags_of
from unrender.tokens import CharacterTokenizer

TOKENIZER = CharacterTokenizer([*SMALL_TOKENS, *tags_of(("items", "name"))])
END = 2


def grammar(most: int = 200) -> TagGrammar:
    return TagGrammar(TOKENIZER.tokens, END, most, RECEIPT_RULES)


def may_follow(text: str, piece: str, most: int = 200) -> bool:
    allowed = grammar(most)(TOKENIZER.encode(text))
    place = END if piece == "</s>" else TOKENIZER.find(piece)
    assert place is not None
    return bool(allowed[place])


def write_at_random(rng: np.random.Generator, most: int) -> str:
    rules, written = grammar(most), list[int]()
    while len(written) < most:
        choices = np.flatnonzero(rules(written))
        assert choices.size
        token = int(rng.choice(choices))
        if token == END:
            break
        written.append(token)
    return TOKENIZER.decode(written)


def test_a_text_begins_with_a_tag_and_ends_when_all_are_closed() -> None:
    assert may_follow("", "<s_date>")
    assert not may_follow("", "A")
    assert not may_follow("", "</s>")
    assert not may_follow("<s_company>AB", "</s>")
    assert may_follow("<s_company>AB</s_company>", "</s>")


def test_only_the_innermost_tag_is_closed() -> None:
    assert may_follow("<s_items><s_name>X", "</s_name>")
    assert not may_follow("<s_items><s_name>X", "</s_items>")
    assert may_follow("<s_items><s_name>X</s_name>", "</s_items>")


def test_a_text_holds_no_tags_and_tags_stand_beside_no_text() -> None:
    assert not may_follow("<s_items>X", "<s_name>")
    assert not may_follow("<s_items><s_name>X</s_name>", "A")


def test_a_single_field_comes_once_and_is_no_list() -> None:
    assert not may_follow("<s_date>01/02/2018</s_date>", "<s_date>")
    assert not may_follow("<s_date>01/02/2018", "<sep/>")
    assert may_follow("<s_items><s_name>X</s_name>", "<sep/>")
    assert may_follow("<s_items><s_name>X</s_name><sep/>", "<s_name>")


@pytest.mark.parametrize(
    ("text", "piece", "allowed"),
    [
        ("<s_total>", "1", True),
        ("<s_total>1", "x", False),
        ("<s_total>1.", "</s_total>", False),
        ("<s_total>1.5", "</s_total>", False),
        ("<s_total>1.50", "</s_total>", True),
        ("<s_total>RM ", "9", True),
        ("<s_total>1.50", ".", False),
        ("<s_date>12", "</s_date>", False),
        ("<s_date>12/03/2018", "</s_date>", True),
        ("<s_date>12/03/", "</s_date>", False),
        ("<s_date>", "(", False),
        ("<s_date>05/01", "8", False),
        ("<s_date>05/01", "/", True),
        ("<s_date>05/01/18", "</s_date>", True),
        ("<s_date>05 M", "A", True),
        ("<s_date>05 M", "/", False),
        ("<s_date>", "</s_date>", True),
    ],
)
def test_a_date_or_an_amount_is_written_as_one(text: str, piece: str, allowed: bool) -> None:
    assert may_follow(text, piece) is allowed


@pytest.mark.parametrize("most", [4, 9, 30])
@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_preferred_the_tags_balance_within_the_limit(seed: int, most: int) -> None:
    text = write_at_random(np.random.default_rng(seed), most)
    pieces = TOKENIZER.split(text)
    assert len(pieces) < most
    opened = [piece for piece in pieces if piece.startswith("<s_")]
    closed = [piece for piece in pieces if piece.startswith("</s_")]
    assert sorted(opened) == sorted(piece.replace("</", "<") for piece in closed)
    assert parse_tags(text) is not None


def test_amounts_and_dates_are_told_from_other_texts() -> None:
    assert fits("amount", "RM 12.50")
    assert fits("amount", "1,234.00")
    assert not fits("amount", "12")
    assert not fits("amount", "TOTAL")
    assert fits("date", "12 MAR 2018")
    assert not fits("date", "KUALA LUMPUR")


def test_a_text_that_goes_on_too_long_is_closed() -> None:
    assert may_follow(f"<s_company>{'A' * 79}", "A")
    assert not may_follow(f"<s_company>{'A' * 80}", "A")
    assert may_follow(f"<s_company>{'A' * 80}", "</s_company>")


def test_a_name_without_a_rule_may_hold_anything() -> None:
    rules = TagGrammar(TOKENIZER.tokens, END, 50, (FieldRule(name="total", kind="amount"),))
    allowed = rules(TOKENIZER.encode("<s_date>"))
    assert all(allowed[token] for token in TOKENIZER.encode("(A%"))
