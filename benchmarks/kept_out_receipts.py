"""Sixty receipts of kinds that the training never saw, by a second generator, and how many totals and dates are right.

Hotels, taxis, hardware stores, bookshops, museums, hairdressers, trains, tolls, launderettes and florists of seven
countries, in layouts, words and fonts of their own; and thirty pages that are no receipts. Everything is drawn from
one seed. Run from the project's root: python benchmarks/kept_out_receipts.py [--model receipt] [--words given|ocr]
[--keep FOLDER]
"""

import argparse
import json
import re
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from unrender.documents import Box
from unrender.reading.reader import Reader
from unrender.reading.systems import Input
from unrender.words import Line, WordPage, order_lines, split_lines

SEED = 20260118
RECEIPTS, OTHERS = 60, 30
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FACES = ("DejaVuSansMono-Oblique", "DejaVuSerif-Bold", "DejaVuSansMono", "STIXGeneral", "DejaVuSans")
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """One country, in words that the other generator does not use for the same thing where there are others."""

    language: str
    comma: bool
    money: tuple[str, ...]
    days: tuple[str, ...]
    shops: str
    streets: str
    towns: str
    phones: str
    totals: str
    nets: str
    taxes: str
    paid: str
    day_words: str
    other_days: str
    particulars: str
    goods: str
    columns: str
    closing: str


PLACES = (
    Place(
        language="en", comma=False, money=("${}", "$ {}", "{} USD"), days=("%m/%d/%Y", "%b %d %Y", "%m-%d-%y", "%A, %B %d, %Y"),
        shops="Quill & Page Books;Ironwood Hardware;Cascade Inn;Yellow Top Taxi;Museum of Flight & Sail;Snip Salon;Bluebell Florist",
        streets="77 Juniper Ct;4100 W Elm St;9 Wharf Plaza", towns="Spokane, WA 99201;Tucson, AZ 85701;Macon, GA 31201",
        phones="(509) 555-0144;520-555-0171", totals="AMOUNT PAYABLE;Total fare;TOTAL (USD);Total for stay;You paid;Balance to pay",
        nets="Pre-tax;Room charges;Net amount", taxes="Sales Tax 8.9%;Occupancy tax 12%;City tax 3.5%", paid="Paid by Amex;Discover;Cash received",
        day_words="Issued;Transaction date:;Checkout;Printed on;", other_days="Return by;Valid until;Arrival",
        particulars="Folio 88213;Cab 4471;Associate 17;Guest J. Rowan;Seat 14C;Room 212", goods="Hammer 16oz;Field Guide;Room 212 night;"
        "Base fare;Adult admission;Wash & cut;Tulips x10;Wood screws;Novel, paperback;Toll plaza 3", columns="Qty Description Price Amount",
        closing="Come back soon!;No refunds after 14 days;Drive safely",
    ),
    Place(
        language="en", comma=False, money=("£{}", "{} GBP"), days=("%d.%m.%Y", "%d %B %Y", "%d/%m/%y", "%a %d %b %Y"),
        shops="The Lamb Inn;Castle Museum Shop;Northway Coaches;Barnet & Daughters Books;Trim Barbers;Quay Laundrette;Meadow Florists",
        streets="3 Mill Lane;The Old Forge, Church Row;114 Dock Road", towns="Exeter EX1 1AA;Perth PH1 5TJ;Norwich NR3 1GN",
        phones="01392 555 014;01738 555112", totals="AMOUNT PAYABLE;Total fare;To pay;Total inc VAT;Balance;Total charge", nets="Net;Before VAT;Ex VAT",
        taxes="VAT 20%;of which VAT 20%", paid="Paid by card;Contactless;Cash", day_words="Issued:;Tax point;Printed;;Dated",
        other_days="Valid until;Exchange by;Depart", particulars="Bill 5521;Coach 12;Room 8;Staff: Una;Ticket 00931;Ref QX-4471",
        goods="Double room;Adult return;Short cut;Service wash;Guide book;Roses, dozen;Postcards;Child ticket;Breakfast", columns="Item Qty Each Total",
        closing="Cheers!;Registered in England;Have a safe journey",
    ),
    Place(
        language="de", comma=True, money=("{} €", "{} EUR", "€ {}"), days=("%d.%m.%Y", "%d.%m.%y", "%d. %B %Y", "%d-%m-%Y"),
        shops="Hotel Krone;Buchhandlung Seitenweise;Taxi Schmitt;Baumarkt Holzapfel;Stadtmuseum;Friseur Haarscharf;Blumen Iris",
        streets="Burgplatz 3;An der Mühle 17;Gerbergasse 8", towns="99084 Erfurt;24103 Kiel;A-5020 Salzburg;86150 Augsburg", phones="0361 / 555 12;+49 431 55501",
        totals="Zahlbetrag;Fahrpreis gesamt;Gesamtpreis;Zu bezahlen;Bruttobetrag;Endsumme", nets="Nettosumme;Netto 19%;Leistung netto",
        taxes="19 % MwSt;MwSt 7 %;zzgl. 19% USt", paid="Bezahlt mit Karte;Bar erhalten;Visa Debit", day_words="Ausgestellt am;Rechnungsdatum;vom;;Belegdatum",
        other_days="Gültig bis;Anreise;Umtausch bis", particulars="Zimmer 21;Wagen 88;Rg.-Nr. 2024-771;Stuhl 3;Steuernummer 151/220/0091;Gast: Weber",
        goods="Übernachtung;Frühstück;Roman, TB;Fahrt 12,4 km;Dübel 8mm;Eintritt Erw.;Waschen & Schneiden;Rosen;Bohrer 6mm;Zuschlag", columns="Menge Artikel Einzel Gesamt",
        closing="Wir freuen uns auf Sie;Kein Umtausch ohne Beleg;Gute Heimreise",
    ),
    Place(
        language="fr", comma=True, money=("{} €", "{}€", "{} EUR"), days=("%d/%m/%Y", "%d %B %Y", "%d.%m.%y", "%d-%m-%Y"),
        shops="Hôtel du Pont;Librairie Papyrus;Taxi Azur;Quincaillerie Leroux;Musée des Arts;Coiffure Élise;Fleurs d'Avril",
        streets="8 quai des Tanneurs;14 impasse Verte;2 route de Dijon", towns="21000 Dijon;29200 Brest;67000 Strasbourg", phones="03 80 55 01 44;02.98.55.01.12",
        totals="Montant à payer;Prix TTC;Total à régler;TOTAL TTC EUR;Somme due;Montant dû", nets="Total hors taxes;Prix HT;Base HT", taxes="TVA 20 %;TVA (10%)",
        paid="Payé par carte;Espèces;Carte Visa", day_words="Émis le;Date d'achat;Fait le;;Du", other_days="Valable jusqu'au;Arrivée;Échange avant le",
        particulars="Chambre 14;Course 8812;Bon 4471;Vendeuse Zoé;Place 22;Dossier XK77", goods="Nuitée;Petit déjeuner;Roman poche;Course;Vis inox;Entrée adulte;"
        "Coupe femme;Bouquet;Marteau;Taxe de séjour", columns="Qté Désignation PU Montant", closing="À très bientôt;Ni repris ni échangé;Bon voyage",
    ),
    Place(
        language="es", comma=True, money=("{} €", "{}€", "{} EUR"), days=("%d/%m/%Y", "%d-%m-%y", "%d de %B de %Y", "%d.%m.%Y"),
        shops="Hostal La Luna;Librería Cervantina;Radio Taxi Sur;Ferretería Ortiz;Museo del Mar;Peluquería Inés;Floristería Jara",
        streets="Rúa Nova 5;Camino Viejo 22;Ronda Norte, 101", towns="27001 Lugo;06001 Badajoz;30001 Murcia", phones="982 55 01 44;Tel 924 550 112",
        totals="TOTAL A ABONAR;Importe total;Total servicio;Total con IVA;Líquido a pagar;Importe a pagar", nets="Base;Importe neto;Base imponible",
        taxes="IVA 21 %;IVA (10 %)", paid="Abonado con tarjeta;Metálico;Pagado VISA", day_words="Emitido el;Fecha de venta;A fecha;;Día", other_days="Válido hasta;Llegada;Cambios hasta",
        particulars="Hab. 12;Licencia 771;Vendedor 3;Butaca 14;Doc. 2024/881;Reserva QK12", goods="Noche doble;Desayuno;Novela;Carrera;Tornillos;Entrada general;"
        "Corte y lavado;Ramo;Martillo;Suplemento", columns="Cant. Concepto Precio Importe", closing="Hasta pronto;No se admiten devoluciones;Feliz viaje",
    ),
    Place(
        language="it", comma=True, money=("€ {}", "{} €", "{} EUR"), days=("%d/%m/%Y", "%d.%m.%Y", "%d %B %Y", "%d-%m-%y"),
        shops="Albergo Tre Pini;Libreria del Borgo;Radiotaxi Levante;Ferramenta Galli;Museo Civico;Parrucchiera Mina;Fiori di Bosco",
        streets="Vicolo Stretto 4;Strada Vecchia 19;Lungolago 33", towns="38122 Trento;06121 Perugia;73100 Lecce", phones="0461 550144;Tel 075 5501 12",
        totals="TOTALE FATTURA;Importo dovuto;Totale corsa;Totale da saldare;TOTALE IVA INCLUSA;Da pagare", nets="Netto;Imponibile 22%;Importo netto", taxes="IVA 22 %;Iva 10%",
        paid="Pagato con carta;Contanti;Bancomat", day_words="Emesso il;Data vendita;Li;;Data", other_days="Valido fino al;Arrivo;Cambi entro il",
        particulars="Camera 9;Corsa 4471;Commessa Lia;Posto 11B;Fattura 88/2024;Cod. XK12", goods="Pernottamento;Colazione;Romanzo;Corsa;Viti inox;Ingresso intero;"
        "Taglio e piega;Mazzo rose;Martello;Supplemento", columns="Q.tà Descrizione Prezzo Importo", closing="A presto;Non si effettuano rimborsi;Buon rientro",
    ),
    Place(
        language="nl", comma=True, money=("€ {}", "€{}", "{} EUR"), days=("%d-%m-%Y", "%d/%m/%y", "%d %B %Y", "%d.%m.%Y"),
        shops="Hotel De Duif;Boekhandel Bladzij;Taxi Centraal;Bouwmarkt Hout;Scheepvaartmuseum;Kapper Knip;Bloemen Iris",
        streets="Brink 7;Havenkade 21;Molenpad 3", towns="8011 PK Zwolle;4331 GE Middelburg;6211 CR Maastricht", phones="038-5550144;+31 43 555 01 12",
        totals="Te voldoen;Ritprijs totaal;Totaal inclusief;Totaalprijs;Verschuldigd bedrag;Nog te betalen", nets="Excl. btw;Netto bedrag;Exclusief", taxes="21% btw;btw 9%",
        paid="Voldaan per pin;Contant voldaan;Creditcard", day_words="Afgegeven op;Factuurdatum;d.d.;;Datum", other_days="Geldig tot;Aankomst;Ruilen tot",
        particulars="Kamer 14;Rit 8812;Verkoper 3;Stoel 22;Ref. XK77;Gast: Jansen", goods="Overnachting;Ontbijt;Roman;Rit 9 km;Schroeven;Entree volw.;Knippen;Boeket;Hamer;Toeslag",
        columns="Aant. Omschrijving Prijs Bedrag", closing="Graag tot ziens;Niet goed, geld terug;Goede thuisreis",
    ),
)  # fmt: skip


@dataclass
class Canvas:
    """A picture being written on; every piece of text becomes a line with its box."""

    width: int
    face: str
    size: int
    top: float = 20.0
    pieces: list[tuple[str, float, float, int]] = field(default_factory=list)  # text, x, y, size

    def font(self, scale: float = 1.0) -> ImageFont.FreeTypeFont:
        return ImageFont.truetype(str(FONTS / f"{self.face}.ttf"), max(9, round(self.size * scale)))

    def put(self, text: str, x: float, scale: float = 1.0) -> None:
        self.pieces.append((text, x, self.top, max(9, round(self.size * scale))))

    def down(self, lines: float = 1.0) -> None:
        self.top += self.size * 1.45 * lines

    def right(self, text: str, scale: float = 1.0) -> None:
        self.put(text, self.width - 24 - self.font(scale).getlength(text), scale)

    def middle(self, text: str, scale: float = 1.0) -> None:
        self.put(text, max(8.0, (self.width - self.font(scale).getlength(text)) / 2), scale)

    def draw(self) -> tuple[Image.Image, list[Line]]:
        height = int(self.top + 30)
        image = Image.new("L", (self.width, height), 250)
        pen = ImageDraw.Draw(image)
        lines = []
        for text, x, y, size in self.pieces:
            font = ImageFont.truetype(str(FONTS / f"{self.face}.ttf"), size)
            pen.text((x, y), text, font=font, fill=25)
            x0, y0, x1, y1 = pen.textbbox((x, y), text, font=font)
            lines.append(Line(text, Box(max(0, x0), max(0, y0), min(x1, self.width), min(y1, height))))
        return image, lines


@dataclass(frozen=True)
class Made:
    """One made receipt: its picture, its words, its total and its day."""

    image: Image.Image
    page: WordPage
    total: float
    day: str


def make(rng: np.random.Generator) -> Made:
    """Make up one receipt of a kind that is not trained on."""
    place = PLACES[int(rng.integers(0, len(PLACES)))]
    pick = lambda options: str(rng.choice([part for part in options.split(";")]))  # noqa: E731
    canvas = Canvas(int(rng.integers(420, 820)), str(rng.choice(FACES)), 0)
    canvas.size = max(12, int(canvas.width / rng.uniform(24, 34)))
    when = datetime(2016, 1, 1) + timedelta(minutes=int(rng.integers(0, 10 * 365 * 1440)))
    form = str(rng.choice(place.days))
    goods = [(str(name), int(rng.integers(1, 4)), round(float(rng.lognormal(2.2, 0.9)) + 1, 2)) for name in
             rng.choice(place.goods.split(";"), int(rng.integers(1, 6)), replace=False)]  # fmt: skip
    total = round(sum(count * price for _, count, price in goods), 2)
    style, money = int(rng.integers(0, 4)), str(rng.choice(place.money))
    amount = lambda value: _amount(value, place.comma)  # noqa: E731
    _head(canvas, place, pick, style)
    dated = f"{pick(place.day_words)} {_day(when, form, place.language)}".strip()
    if style != 3:
        _date(canvas, rng, dated, when)
    for text in rng.choice(place.particulars.split(";"), int(rng.integers(0, 3)), replace=False):
        canvas.put(str(text), 24)
        canvas.down()
    _goods(canvas, place, goods, style, amount)
    rate = float(re.findall(r"\d+(?:\.\d+)?", tax := pick(place.taxes))[0])
    if rng.random() < 0.6:
        for word, value in ((pick(place.nets), total / (1 + rate / 100)), (tax, total - total / (1 + rate / 100))):
            canvas.put(word, 24)
            canvas.right(amount(value))
            canvas.down()
    _total(canvas, pick(place.totals), money.format(amount(total)), style)
    if rng.random() < 0.6:
        canvas.put(pick(place.paid), 24)
        canvas.right(amount(total))
        canvas.down()
    if rng.random() < 0.35:
        later = when + timedelta(days=30)
        canvas.put(f"{pick(place.other_days)} {_day(later, form, place.language)}", 24)
        canvas.down()
    if style == 3:
        canvas.down(0.5)
        _date(canvas, rng, dated, when)
    canvas.middle(pick(place.closing))
    canvas.down()
    image, lines = canvas.draw()
    page = WordPage(image.width, image.height, tuple(split_lines(order_lines(lines))))
    return Made(_spoil(image, rng), page, total, when.date().isoformat())


def make_other(rng: np.random.Generator) -> tuple[Image.Image, WordPage]:
    """Make up a page that is no receipt: a time table, a recipe, a score sheet."""
    canvas = Canvas(int(rng.integers(500, 900)), str(rng.choice(FACES)), 20)
    place, kind = PLACES[int(rng.integers(0, len(PLACES)))], int(rng.integers(0, 3))
    canvas.put(str(rng.choice(["Abfahrt", "Horaires", "Timetable", "Recipe", "League table", "Classifica"])), 30, 1.5)
    canvas.down(2)
    for _ in range(int(rng.integers(6, 20))):
        name = str(rng.choice(place.towns.split(";"))).strip("0123456789 ")
        if kind == 0:
            canvas.put(name, 30)
            for column in range(4):
                canvas.put(f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}", 240 + 70 * column)
        elif kind == 1:
            canvas.put(f"Take {rng.integers(1, 9)} spoons and stir for {rng.integers(2, 30)} minutes, then rest.", 30)
        else:
            for column, text in enumerate((name, str(rng.integers(1, 40)), _amount(float(rng.lognormal(3, 1)), place.comma))):
                canvas.put(text, 30 + 200 * column)
        canvas.down()
    image, lines = canvas.draw()
    return image, WordPage(image.width, image.height, tuple(split_lines(order_lines(lines))))


def _head(canvas: Canvas, place: Place, pick, style: int) -> None:  # type: ignore[no-untyped-def]
    name, street, town, phone = pick(place.shops), pick(place.streets), pick(place.towns), pick(place.phones)
    if style == 1:
        canvas.put(name, 24, 1.3)
        canvas.right(street, 0.8)
        canvas.down(1.3)
        canvas.right(town, 0.8)
        canvas.down()
        canvas.right(phone, 0.8)
    else:
        for text, scale in ((name, 1.25), (street, 1.0), (town, 1.0), (phone, 1.0)):
            canvas.middle(text, scale) if style == 0 else canvas.put(text, 24, scale)
            canvas.down(1.2)
    canvas.down()


def _date(canvas: Canvas, rng: np.random.Generator, dated: str, when: datetime) -> None:
    canvas.put(dated, 24)
    if rng.random() < 0.5:
        canvas.right(f"{when:%H:%M}")
    canvas.down()


def _goods(canvas: Canvas, place: Place, goods, style: int, amount) -> None:  # type: ignore[no-untyped-def]
    canvas.down(0.5)
    if style in (0, 1):
        columns = [24, 24 + canvas.width * 0.13, canvas.width * 0.58, canvas.width * 0.8]
        order = (0, 1, 2, 3) if place.language != "en" or place.money[0].startswith("$") else (1, 0, 2, 3)
        names = place.columns.split(" ")
        for x, name in zip(columns, [names[0], names[1], names[2], names[3]], strict=True):
            canvas.put(name, x, 0.8)
        canvas.down()
        for name, count, price in goods:
            cells = (str(count), name[: int(canvas.width * 0.45 / canvas.font().getlength("m"))] or name, amount(price), amount(count * price))
            if order[0] == 1:
                columns = [24, canvas.width * 0.5, canvas.width * 0.62, canvas.width * 0.82]
            for x, index in zip(columns, order, strict=True):
                canvas.put(cells[index], x)
            canvas.down()
    else:
        for name, count, price in goods:
            dots = "." * max(3, int((canvas.width * 0.5 - canvas.font().getlength(name)) / canvas.font().getlength(".")))
            canvas.put(f"{name} {dots}" if style == 2 else name, 24)
            canvas.right(amount(count * price))
            canvas.down()
            if count > 1:
                canvas.put(f"   {count} @ {amount(price)}", 24)
                canvas.down()
    canvas.down(0.5)


def _total(canvas: Canvas, word: str, shown: str, style: int) -> None:
    if style == 3:  # the amount stands below its word
        canvas.middle(word, 1.1)
        canvas.down(1.2)
        canvas.middle(shown, 1.5)
        canvas.down(1.8)
    else:
        canvas.put(f"{word} :" if style == 1 else word, 24, 1.15)
        canvas.right(shown, 1.15)
        canvas.down(1.5)


def _amount(value: float, comma: bool) -> str:
    text = f"{value:,.2f}"
    return text.replace(",", " ").replace(".", ",").replace(" ", ".") if comma else text


def _day(when: datetime, form: str, language: str) -> str:
    name = MONTHS[language].split()[when.month - 1]
    return when.strftime(form.replace("%B", name).replace("%b", name[:3]))


def _spoil(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Lay the paper on a table, a little askew, and take a picture of it."""
    if rng.random() < 0.4:
        table = Image.new("L", (image.width + 60, image.height + 60), int(rng.integers(60, 160)))
        table.paste(image, (30, 30))
        turned = table.rotate(float(rng.uniform(-1.5, 1.5)), fillcolor=110, resample=Image.Resampling.BICUBIC)
        image = turned.crop((30, 30, 30 + image.width, 30 + image.height))
    if rng.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.2, 0.7))))
    values = np.asarray(image, dtype=np.float64) * np.linspace(1, rng.uniform(0.75, 1), image.width)[None]
    return Image.fromarray(np.clip(values + rng.normal(0, 4, values.shape), 0, 255).astype(np.uint8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="receipt")
    parser.add_argument("--words", choices=("given", "ocr"), default="given")
    parser.add_argument("--keep", type=Path, help="where to keep the pictures")
    parser.add_argument("--show", action="store_true", help="what is read wrong")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    made = [make(np.random.default_rng([SEED, number])) for number in range(RECEIPTS)]
    others = [make_other(np.random.default_rng([SEED, 1000 + number])) for number in range(OTHERS)]
    pages = [*((one.image, one.page) for one in made), *others]
    inputs = []
    for number, (image, page) in enumerate(pages):
        image.save(folder / f"{number:03d}.png")
        inputs.append(Input(folder / f"{number:03d}.png", words=page if arguments.words == "given" else None))
    blocks = [document.blocks[0] for document in Reader.open(arguments.model).read_many(inputs)]
    right = {"total": 0, "date": 0}
    for number, (one, block) in enumerate(zip(made, blocks, strict=False)):
        fields = block.fields
        assert isinstance(fields, dict)
        found = {"total": fields["amount"] == one.total, "date": fields["iso_date"] == one.day}
        for name, well in found.items():
            right[name] += well
            if arguments.show and not well:
                print(number, name, one.total if name == "total" else one.day, fields[name], round(block.confidence or 0, 2))
    null = sum(not block.children for block in blocks[RECEIPTS:])
    said = {name: round(count / RECEIPTS, 4) for name, count in right.items()}
    print(json.dumps({"words": arguments.words, **said, "receipts": RECEIPTS, "others_null": null, "others": OTHERS}))


if __name__ == "__main__":
    main()
