"""Words and boxes of a page: from a PDF's own text, from RapidOCR, or given as JSON, hOCR or ALTO."""

from unrender.words.given import parse_given, read_given
from unrender.words.lexicon import Lexicon, part_words
from unrender.words.ocr import RapidReader, WordReader, open_reader
from unrender.words.order import find_rows, order_lines, order_words
from unrender.words.page import COORDINATES, Line, Word, WordPage, check_box, split_lines
from unrender.words.pdf import find_pdf_words
from unrender.words.receipt_words import receipt_lexicon

__all__ = [
    "COORDINATES",
    "Lexicon",
    "Line",
    "RapidReader",
    "Word",
    "WordPage",
    "WordReader",
    "check_box",
    "find_pdf_words",
    "find_rows",
    "open_reader",
    "order_lines",
    "order_words",
    "parse_given",
    "part_words",
    "read_given",
    "receipt_lexicon",
    "split_lines",
]
