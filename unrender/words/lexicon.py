"""A word list that parts what a recogniser ran together: NORTHSTATIONERYSHOP to NORTH STATIONERY SHOP."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unrender.documents import Box
from unrender.errors import ModelError
from unrender.words.word_page import Word, WordPage

_LETTERS = re.compile(r"[A-Za-z&']+")
_SHORTEST = 4  # letters of a part; of three only if they are very frequent, such as SDN and BHD
_FREQUENT = 100
_LONGEST = 18
_GLUED = 6  # letters from which a word may be several
_AFTER_NAME = 2  # known words that must follow an unknown one
_SHORT = ("AND ARE BHD FOR GST INC INV NOT QTY SDN TAX TEL THE YOU ").split()
_LONG = (
    "ADDRESS ADJUSTMENT AGAIN ALAM AMOUNT APPROVED AUTHORISED AVENUE BAKERY BALANCE BANDAR BARU BATU BILL BLOCK "
    "BOOK BOUGHT BUILDING BUKIT BUSINESS CAFE CARD CASH CASHIER CENTRE CHANGE CITY CLINIC CODE COFFEE COLD COME "
    "COMMERCIAL COMPANY COPY CORNER COUNTER CREDIT CUSTOMER DATE DAYS DEBIT DELIVERY DESA DESCRIPTION DINE DISCOUNT "
    "DISTRIBUTION DOCUMENT ELECTRICAL ELECTRONIC ENTERPRISE EXCHANGE EXCHANGEABLE EXCHANGED EXPRESS FASHION FLOOR "
    "FOOD FRESH FRIED FROM FURNITURE GALLERY GIFT GOODS GRAND GROCERY GROUND GROUP HARDWARE HAVE HEALTHCARE HEIGHTS "
    "HIGHWAY HOLDINGS HOTEL HOUSE INCLUDED INCLUSIVE INDAH INDUSTRIAL INDUSTRIES INDUSTRY INTERNATIONAL INVOICE "
    "ITEM ITEMS JALAN JAYA JOHOR KAMPUNG KAWASAN KEDAH KEDAI KELANTAN KITCHEN KLANG KUALA LEBUH LEVEL LIGHTING "
    "LORONG LUMPUR MACHINERY MAKAN MALAYSIA MALL MANAGEMENT MARKET MARKETING MEMBER MINI MOTOR NEGERI NICE NUMBER "
    "OFFICE OPTICAL ORDER ORIGINAL PAHANG PAPER PARK PARKING PARTS PAYMENT PENANG PERAK PERDAGANGAN PERINDUSTRIAN "
    "PERNIAGAAN PERSIARAN PETALING PETROL PHARMACY PHONE PINANG PLAZA PLEASE POINT POINTS PRICE PRINTING PRODUCTS "
    "PULAU PURCHASE PUSAT QUANTITY REASON RECEIPT REFERENCE REFUND REFUNDABLE REFUNDED REGISTRATION RESTAURANT "
    "RESTORAN RETAIL RETURN RETURNABLE RETURNED ROAD ROUNDED ROUNDING SABAH SALES SARAWAK SEAFOOD SECTION SEKSYEN "
    "SELANGOR SEMBILAN SERVICE SERVICES SHAH SHOP SHOPPING SIGNATURE SOLD SOLUTIONS SPORTS SQUARE STAFF STATION "
    "STATIONERY STORE STREET SUBANG SUBTOTAL SUMMARY SUPERMARKET SUPPLIES SUPPLY SYSTEMS TABLE TAMAN TECHNOLOGY "
    "TELEPHONE TENDERED TERMINAL TERMS THANK THERE THIS TIME TOTAL TOWER TOWN TRADING TRANSACTION TRANSPORT TUNAI "
    "UNIT UPON VALID VALUE VEGETABLE VILLAGE VISIT VOUCHER WAREHOUSE WATER WHOLESALE WITH WITHIN YOUR "
).split()
_OFTEN, _SOMETIMES = 200, 100  # how often each is taken to have been seen


class Lexicon:
    """Words in capitals with how often each was seen."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        total = sum(counts.values()) or 1
        self._costs = {word: -math.log(count / total) for word, count in counts.items() if self._is_part(word, count)}

    @classmethod
    def load(cls, path: Path) -> "Lexicon":
        try:
            pairs = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
            return cls({word: int(count) for word, count in pairs})
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} is not a list of words with their counts: {error}") from error

    def save(self, path: Path) -> None:
        lines = [f"{word} {count}" for word, count in sorted(self.counts.items())]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def part(self, text: str) -> str:
        """Put spaces into runs of letters that are no word but consist of words."""
        return _LETTERS.sub(lambda found: self._spaced(found[0]), text)

    def _spaced(self, run: str) -> str:
        if len(run) < _GLUED or run.upper() in self.counts:
            return run
        whole = self._parts(run)
        if whole:
            return " ".join(whole)
        for length in range(_SHORTEST, len(run)):  # a name that nobody listed, and what the firm does
            following = self._parts(run[length:])
            if len(following) >= _AFTER_NAME:
                return " ".join((run[:length], *following))
        return run

    def _parts(self, run: str) -> list[str]:
        """Return the likeliest words that a run consists of; none if it is anything else."""
        cheapest: list[float] = [0.0] + [math.inf] * len(run)
        came_from = [0] * (len(run) + 1)
        for stop in range(1, len(run) + 1):
            for start in range(max(0, stop - _LONGEST), stop):
                cost = cheapest[start] + self._costs.get(run[start:stop].upper(), math.inf)
                if cost < cheapest[stop]:
                    cheapest[stop], came_from[stop] = cost, start
        parts, stop = list[str](), len(run)
        while stop and not math.isinf(cheapest[-1]):
            parts.append(run[came_from[stop] : stop])
            stop = came_from[stop]
        return parts[::-1]

    @staticmethod
    def _is_part(word: str, count: int) -> bool:
        return len(word) >= _SHORTEST or (len(word) == _SHORTEST - 1 and count >= _FREQUENT)


def part_words(page: WordPage, lexicon: Lexicon) -> WordPage:
    """Part the words of a page; each part has its share of the box."""
    words: list[Word] = []
    for word in page.words:
        parts, start = lexicon.part(word.text).split(), 0
        if len(parts) < 2:
            words.append(word)
            continue
        for text in parts:
            left, right = (word.box.x0 + word.box.width * at / len(word.text) for at in (start, start + len(text)))
            words.append(replace(word, text=text, box=Box(left, word.box.y0, right, word.box.y1)))
            start += len(text)
    return replace(page, words=tuple(words))


def receipt_lexicon() -> Lexicon:
    """Return the words of receipts, for models that read them."""
    return Lexicon({**dict.fromkeys(_SHORT, _OFTEN), **dict.fromkeys(_LONG, _SOMETIMES)})
