"""Hostile texts: every parser and writer answers soon, with a result or one sentence."""

import time

import pytest

from unrender import formats
from unrender.errors import NotationError, UnrenderError
from unrender.formats import PARSED_NOTATIONS

SECONDS = 20  # a busy machine is no failure; an exponential writer is
LONGEST_SENTENCE = 300
DEEP = 600
HOSTILE = {
    "latex": {
        "text in text": "\\text{" * 400 + "}" * 400,
        "roman switches": "\\rm x " * 1200,
        "a long skip": "\\hskip " + "9" * 600 + "pt",
        "a wide space": "\\hspace{" + "9" * 20 + "pt}x",
        "brackets": "(" * 900 + "x" + ")" * 900,
        "squared brackets": "(" * 400 + "x" + ")^2" * 400,
        "functions": "f(" * 900 + "x" + ")" * 900,
        "fences": "\\left(" * 29 + "x" + "\\right)^2" * 29,
        "fractions": "\\frac{" * 25 + "x" + "}{(2)}" * 25,
        "accents": "\\hat" * 59 + "x",
        "open brackets": "[" * 100_000,
        "integrals": "\\int x dx" * 1500,
        "letters": "x" * 20_000,
    },
    "doctags": {
        "nested lists": "<unordered_list><list_item>" * DEEP,
        "nested inlines": "<inline>" * DEEP + "x" + "</inline>" * DEEP,
        "a ragged table": "<otsl>" + "<fcel>" * 6000 + "<nl>" * 6000 + "</otsl>",
        "open brackets": "[" * 100_000,
        "ampersands": "&amp;" * 20_000,
    },
    "donut": {
        "nested": "<s_a>" * DEEP + "x" + "</s_a>" * DEEP,
        "separators": "<sep/>" * 20_000,
        "open brackets": "[" * 100_000,
    },
    "markdown": {
        "nested lists": "\n".join(" " * depth + "- x" for depth in range(DEEP)),
        "quotes": ">" * 100_000,
        "open brackets": "[" * 100_000,
        "open formulas": "\\(" * 50_000,
        "dollars": "$x" * 20_000,
        "table rules": "|a|\n|" + "-|" * 20_000,
        "wide cells": "\\begin{tabular}{l}" + "\\multicolumn{999}{l}{x}\\\\" * 300,
    },
    "json": {
        "nested lists": "[" * DEEP + "]" * DEEP,
        "nested objects": '{"a":' * DEEP + "1" + "}" * DEEP,
        "open brackets": "[" * 100_000,
        "a long number": "9" * 10_000,
        "infinity": '{"pages": [{"number": 1e999, "width": 1, "height": 1, "status": {}}], "status": {}}',
        "half a character": '["\\ud800"]',
    },
    "text": {"open brackets": "[" * 100_000, "blank lines": "\n " * 50_000},
}
CASES = [(notation, name) for notation, texts in HOSTILE.items() for name in texts]


def test_every_parser_is_tried():
    assert set(HOSTILE) == set(PARSED_NOTATIONS)


@pytest.mark.parametrize(("notation", "name"), CASES)
def test_hostile_text_is_converted_or_refused_soon(notation: str, name: str):
    began = time.process_time()
    refusals = [_convert(HOSTILE[notation][name], notation, target) for target in formats.FILE_NOTATIONS]
    assert all("\n" not in refusal and len(refusal) < LONGEST_SENTENCE for refusal in refusals)
    assert time.process_time() - began < SECONDS


def _convert(text: str, notation: str, target: str) -> str:
    """Return what is said against it, or nothing."""
    try:
        formats.write_file(formats.parse(text, notation), target)
    except UnrenderError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("notation", "text", "sentence"),
    [
        ("json", "[" * DEEP + "]" * DEEP, "The JSON is nested more than 100 deep."),
        ("json", "[" * 100_000, "The JSON is nested more than 100 deep."),
        ("json", '["\\ud800"]', "The text is not JSON"),
    ],
)
def test_what_is_too_deep_is_said_in_one_sentence(notation: str, text: str, sentence: str):
    with pytest.raises(NotationError, match=sentence):
        formats.parse(text, notation)


def test_sympy_refuses_brackets_that_are_too_deep():
    document = formats.parse("(" * 100 + "x" + ")" * 100, "latex")
    with pytest.raises(NotationError, match="brackets nested more than 40 deep"):
        formats.write(document, "sympy")
