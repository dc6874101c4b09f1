"""Words and boxes of a page: from a PDF's own text, from RapidOCR, or given as JSON, hOCR or ALTO."""

from unrender.words.given import find_pdf_words, parse_given, read_given
from unrender.words.lexicon import Lexicon, part_words, receipt_lexicon
from unrender.words.ocr import RapidReader, WordReader, open_finder, open_reader
from unrender.words.word_page import (
    Line,
    Word,
    WordPage,
    find_rows,
    group_rows,
    order_lines,
    split_lines,
    turn_upright,
)

__all__ = [
    "Lexicon",
    "Line",
    "RapidReader",
    "Word",
    "WordPage",
    "WordReader",
    "find_pdf_words",
    "find_rows",
    "group_rows",
    "open_finder",
    "open_reader",
    "order_lines",
    "parse_given",
    "part_words",
    "read_given",
    "receipt_lexicon",
    "split_lines",
    "turn_upright",
]
