"""Words and boxes of a page: from a PDF's own text, from RapidOCR, or given as JSON, hOCR or ALTO."""

from unrender.words.given import find_pdf_words, parse_given, read_given
from unrender.words.lexicon import Lexicon, part_words, receipt_lexicon
from unrender.words.ocr import RapidFinder, RapidReader, WordReader, open_finder, open_reader
from unrender.words.page import (
    COORDINATES,
    Line,
    Word,
    WordPage,
    check_box,
    find_rows,
    group_rows,
    order_lines,
    order_words,
    split_lines,
    turn_upright,
)

__all__ = [
    "COORDINATES",
    "Lexicon",
    "Line",
    "RapidFinder",
    "RapidReader",
    "Word",
    "WordPage",
    "WordReader",
    "check_box",
    "find_pdf_words",
    "find_rows",
    "group_rows",
    "open_finder",
    "open_reader",
    "order_lines",
    "order_words",
    "parse_given",
    "part_words",
    "read_given",
    "receipt_lexicon",
    "split_lines",
    "turn_upright",
]
