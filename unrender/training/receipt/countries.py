"""What receipts say in seven countries: shops, streets, goods, words before totals and dates. All of it invented."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Country:
    """The words of one country's receipts; `;` parts what is drawn from."""

    code: str
    currency: Sequence[str]  # as it is printed; {} is the amount
    comma: bool  # decimals after a comma
    dates: Sequence[str]  # of strftime
    months: str  # short names, where a date spells them
    names: str
    shops: dict[str, str]  # kind of shop: its words, with {name}
    firms: str  # what stands behind a firm's name
    streets: str
    cities: str  # with their postcodes: # is a digit
    phones: str
    totals: str
    subtotals: str
    taxes: str  # with {rate}
    rates: Sequence[float]
    cash: str
    card: str
    change: str
    date_words: str
    numbers: str  # what is counted: # is a digit
    headings: str
    goods: dict[str, str]
    farewells: str


COUNTRIES: tuple[Country, ...] = tuple(
    Country(**country) for country in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
)
