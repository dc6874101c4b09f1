"""What documents are made up from: shops, streets, goods, letters, and the ways to draw them. All of it invented.

countries.json says the same of the receipts of seven countries.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

NAMES = (
    "AMBER ORCHID HARBOUR LOTUS SUMMIT GOLDEN SILVER UNITED PACIFIC NORTHERN EASTERN SUNRISE MAPLE CEDAR RIVER "
    "PRIME ROYAL HAPPY BRIGHT CORNER VILLAGE METRO CITY CENTRAL GRAND EVER LUCKY FAMILY FRESH GREEN BLUE STAR "
    "MOON OCEAN EAGLE TIGER LIAN HENG SENG HOCK KIM YONG TECK CHUAN WAH MEI SRI SETIA INDAH MAJU JAYA BARU "
    "PERDANA SINAR BINTANG WIRA ASHFORD BRADLEY CARTER DALTON ELLIS FOSTER GIBSON HARPER IRVING JACOBS KELLER "
    "LAMBERT MORGAN NOLAN OSBORN PARKER"
).split()
TRADES = (
    "HARDWARE;STATIONERY;TRADING;RESTAURANT;CAFE;BAKERY;PHARMACY;MINI MARKET;SUPERMARKET;BOOKSTORE;ELECTRICAL;"
    "AUTO PARTS;FURNITURE;GIFT SHOP;SEAFOOD RESTAURANT;NOODLE HOUSE;CONFECTIONERY;ENTERPRISE;MARKETING;FASHION;"
    "OPTICAL;PET SHOP;GROCERY;KITCHEN;COFFEE;HEALTHCARE;PRINTING;SPORTS;TOYS;FLORIST"
).split(";")
FORMS = ("SDN BHD", "SDN. BHD.", "(M) SDN BHD", "LTD", "LLC", "INC", "PLT", "CO.", "ENTERPRISE", "S/B", "& SONS", "")
STREETS = (
    "JALAN {name};JALAN {name} {n}/{n};LORONG {name} {n};PERSIARAN {name};{name} STREET;{name} ROAD;"
    "{name} AVENUE;{n} {name} LANE;JLN {name} {n};LEBUH {name}"
).split(";")
AREAS = (
    "TAMAN {name};BANDAR {name};KAWASAN PERINDUSTRIAN {name};SEKSYEN {n};{name} PARK;{name} HEIGHTS;"
    "DESA {name};PUSAT PERDAGANGAN {name};{name} BUSINESS CENTRE;KAMPUNG {name}"
).split(";")
CITIES = (
    "KUALA LUMPUR;PETALING JAYA, SELANGOR;SHAH ALAM, SELANGOR;JOHOR BAHRU, JOHOR;KLANG, SELANGOR;IPOH, PERAK;"
    "SUBANG JAYA;SEREMBAN, NEGERI SEMBILAN;MELAKA;GEORGE TOWN, PENANG;LONDON;LEEDS;AUSTIN, TX;DENVER, CO;"
    "SINGAPORE;DUBLIN"
).split(";")
GOODS = (
    "A4 PAPER;BALL PEN BLUE;NASI LEMAK;FRIED RICE;ICED TEA;COFFEE O;MINERAL WATER 500ML;LED BULB 9W;"
    "PAINT BRUSH 2IN;PVC PIPE;SCREW SET;TOILET ROLL;CHICKEN CHOP;FISH BALL NOODLE;WHITE BREAD;EGGS GRADE A;"
    "COOKING OIL 2KG;RICE 5KG;SHAMPOO;TOOTHPASTE;BATTERY AA 4S;NOTEBOOK 80P;FILE FOLDER;STAPLER;TAPE 18MM;"
    "PADLOCK 40MM;MEASURING TAPE;USB CABLE;CAKE SLICE;CROISSANT;LATTE;SET LUNCH;CHILI CRAB;VEGETABLE;"
    "PARKING FEE;PETROL;CAR WASH;PHOTOCOPY;ENVELOPE;GIFT WRAP;T SHIRT M"
).split(";")
TOTALS = (
    "TOTAL;TOTAL AMOUNT;GRAND TOTAL;NET TOTAL;NETT TOTAL;TOTAL DUE;AMOUNT DUE;TOTAL (INCL. GST);TOTAL SALES;"
    "TOTAL RM;ROUNDED TOTAL;TOTAL PAYABLE;BALANCE DUE;TOTAL INCLUSIVE OF TAX"
).split(";")
FAREWELLS = (
    "THANK YOU;THANK YOU, PLEASE COME AGAIN;GOODS SOLD ARE NOT RETURNABLE;EXCHANGE WITHIN 7 DAYS WITH RECEIPT;"
    "PLEASE KEEP THIS RECEIPT;HAVE A NICE DAY;CUSTOMER COPY;POWERED BY POS"
).split(";")
FORM_KEYS = (
    "Name;Date of birth;Account number;Department;Telephone;Fax;Address;Date;Reference;Prepared by;Approved by;"
    "Quantity;Description;Unit price;Delivery date;Purpose;Employee number;Location;Contract no.;Supplier;"
    "Product;Remarks;Signature"
).split(";")
FORM_TITLES = (
    "PURCHASE ORDER;EXPENSE REPORT;REQUEST FOR LEAVE;SHIPPING NOTICE;TEST RESULTS;CUSTOMER SURVEY;"
    "APPLICATION FORM;DELIVERY NOTE;MAINTENANCE RECORD;BUDGET SUMMARY;REGISTRATION"
).split(";")
SENTENCES = (
    "Thank you for your letter of {date}.;We are pleased to confirm your order of {goods}.;"
    "The goods were sent on {date} and should reach you within {n} days.;"
    "Please find enclosed our invoice for {amount}.;"
    "We regret that {goods} is out of stock until further notice.;Your account shows a balance of {amount}.;"
    "Kindly let us know by {date} whether you accept these terms.;"
    "Our office in {city} will be closed on {date}.;If you have any questions, call {person} at {phone}.;"
    "The meeting will take place in {city} on {date}.;We would be grateful for payment within {n} days.;"
    "As agreed, {person} will visit your office on {date}.;The price for {n} units is {amount}, tax included.;"
    "We look forward to hearing from you.;Please sign the form and return it to {person}."
).split(";")
OPENINGS = "Dear Sir or Madam,;Dear {person},;To whom it may concern,".split(";")
CLOSINGS = "Yours faithfully,;Yours sincerely,;Kind regards,".split(";")
_DATE_FORMS = "%d/%m/%Y;%d-%m-%Y;%d/%m/%y;%d-%m-%y;%Y-%m-%d;%d %b %Y;%d.%m.%Y;%d-%b-%Y;%b %d, %Y".split(";")


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
    Country(**country) for country in json.loads(Path(__file__).with_name("countries.json").read_text(encoding="utf-8"))
)


def draw_company(rng: np.random.Generator) -> str:
    names = " ".join(pick(rng, NAMES) for _ in range(rng.integers(1, 3)))
    return " ".join(f"{names} {pick(rng, TRADES)} {pick(rng, FORMS)}".split())


def draw_address(rng: np.random.Generator) -> list[str]:
    """Return two to four lines of an address."""
    number = pick(rng, ("NO {n}", "NO. {n}", "LOT {n}", "{n}", "{n}-{n}", "UNIT {n}, LEVEL {n}"))
    street = f"{number}, {pick(rng, STREETS)}"
    city = f"{draw_digits(rng, 5)} {pick(rng, CITIES)}"
    parts = [street, pick(rng, AREAS), city] if rng.random() < 0.7 else [street, city]
    comma = "," if rng.random() < 0.8 else ""
    lines = [fill(rng, part) + comma for part in parts[:-1]] + [parts[-1] + ("." if rng.random() < 0.4 else "")]
    if rng.random() < 0.25:
        lines = [" ".join(lines[:2]), *lines[2:]]
    return lines


def fill(rng: np.random.Generator, text: str) -> str:
    """Put something into every slot of a template."""
    makers: dict[str, Callable[[], str]] = {
        "{name}": lambda: pick(rng, NAMES),
        "{n}": lambda: str(rng.integers(1, 120)),
        "{date}": lambda: draw_day(rng),
        "{goods}": lambda: pick(rng, GOODS).lower(),
        "{amount}": lambda: f"{rng.lognormal(4, 1):.2f}",
        "{city}": lambda: pick(rng, CITIES).title(),
        "{person}": lambda: draw_person(rng).title(),
        "{phone}": lambda: draw_phone(rng),
    }
    for slot, make in makers.items():
        while slot in text:
            text = text.replace(slot, make(), 1)
    return text


def draw_value(rng: np.random.Generator) -> str:
    """Draw what a form may be filled with."""
    values = draw_day(rng), draw_person(rng), draw_phone(rng), draw_company(rng), draw_digits(rng, 6), pick(rng, GOODS)
    return pick(rng, values).title()


def draw_day(rng: np.random.Generator) -> str:
    day = date(2005, 1, 1) + timedelta(days=int(rng.integers(0, 8000)))
    return day.strftime(pick(rng, _DATE_FORMS)).upper()


def draw_person(rng: np.random.Generator) -> str:
    return f"{pick(rng, NAMES)} {pick(rng, NAMES)}"


def draw_phone(rng: np.random.Generator) -> str:
    return f"0{rng.integers(1, 10)}-{draw_digits(rng, 7)}"


def draw_digits(rng: np.random.Generator, count: int) -> str:
    return "".join(str(digit) for digit in rng.integers(0, 10, count))


def pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(0, len(options)))]
