"""What the words on receipts mean, in English, German, French, Spanish, Italian, Dutch and a little Malay.

Texts are folded before they are compared: capitals, no accents. Recognisers lose spaces, so none is asked for.
"""

import re
import unicodedata


def _words(*patterns: str) -> re.Pattern[str]:
    """Match any of some words; a space in a pattern may be missing in the text, or be a mark."""
    joined = "|".join(pattern.replace(" ", r"[\s.:*-]{0,3}") for pattern in patterns)
    return re.compile(rf"(?<![A-Z])(?:{joined})")


TOTAL = _words(
    r"GRAND TOTAL", r"TOTAL(?:E|S|I)?(?![A-Z])", "TOTAAL", "TOTALBETRAG", "TOTAL(?:DUE|AMOUNT|TTC|EUR|RM|SALE|INCL)",
    "SUMME", "GESAMT", "ZU ZAHLEN", "ZAHLBETRAG", "ZAHLUNG", "ENDBETRAG", "ENDSUMME", "RECHNUNGSBETRAG", "BETRAG",
    "AMOUNT(?: DUE| PAYABLE| PAID)?", "AMT", "BALANCE DUE", "BALANCE TO PAY", "TO PAY", "YOU PAID", "NET(?:T)? TOTAL",
    "NET A PAYER", "A PAYER", "MONTANT", "IMPORTE", "A PAGAR", "IMPORTO", "DA PAGARE", "TOT COMPLESSIVO",
    "TE BETALEN", "TE VOLDOEN", "BEDRAG", "EINDTOTAAL", "JUMLAH", "CHARGED", "TOTAL(?:E|AAL)?[A-Z]{0,3}EURO?S?",
)  # fmt: skip
STRONG_TOTAL = _words(
    "GRAND TOTAL", "TOTAL (?:DUE|TO PAY|PAYABLE|TTC|A PAYER|A PAGAR|AMOUNT|CHARGED|PAID|INCL|SALE|EUR|GBP|USD|RM)",
    "AMOUNT (?:DUE|PAYABLE)", "BALANCE (?:DUE|TO PAY)", "SUMME", "GESAMT(?:BETRAG|SUMME)", "ZU ZAHLEN", "ZAHLBETRAG",
    "ENDBETRAG", "ENDSUMME", "RECHNUNGSBETRAG", "NET A PAYER", "MONTANT (?:TOTAL|TTC|REEL|DU)", "IMPORTE TOTAL",
    "TOTALE (?:COMPLESSIVO|EUR|DA PAGARE|DOCUMENTO)", "IMPORTO (?:PAGATO|TOTALE)", "TE BETALEN", "TE VOLDOEN",
    "TOTAALBEDRAG", "EINDTOTAAL", "TOTAAL (?:INCL|EUR|TE BETALEN)", "NET(?:T)? TOTAL", "ORDER TOTAL", "ROUNDED TOTAL",
)  # fmt: skip
PARTIAL = _words(
    "SUB TOTAL", "SUBTOTAAL", "SUBTOTALE", "SUBSUMME", "ZWISCHENSUMME", "SOUS TOTAL", "TOTAL HT", "HORS TAXE",
    "MONTANT HT", "NETTO", "NET(?!T? TOTAL| A PAYER)(?![A-Z])", "BASE", "IMPONIBILE", "EXCL", "EXKL", "BEFORE TAX",
    "WARENWERT", "GOODS", "MERCHANDISE", "TOTAL (?:ITEMS?|QTY|QUANTITY|DISCOUNT|SAVINGS?|TAX|VAT|GST|POINTS|TVA|BTW)",
    "TOTALE? IVA(?! INC)", "ITEMS?(?![A-Z])", "QTY", "STUECK", "ARTICLES?", "ARTICULOS", "ARTIKELEN", "DISCOUNT",
    "SAVINGS?", "SAVED", "RABATT", "REMISE", "DESCUENTO", "SCONTO", "KORTING", "TIP(?![A-Z])", "GRATUITY",
    "SERVICE CH", "ROUNDING", "RUNDUNG", "POINTS", "PUNKTE", "PUNTI", "PUNTOS", "PUNTEN", "DEPOSIT(?![A-Z])", "PFAND",
    "SUMMARY", "LOYALTY", "TRANSPORTO", "HANDLING", "SHIPPING", "DELIVERY", "VERSAND", "FRAIS DE PORT", "ENVIO",
    "SPEDIZIONE", "VERZEND", "GROSS (?:AMOUNT|SALES?)", "SUPPLIES",
)  # fmt: skip
UNTAXED = _words("EXCL", "EXKL", "BEFORE TAX", "HORS TAXE")  # what follows is not the total, whatever it is called
TAXED = _words("INCL", "INKL", "TTC")
TAX = _words(
    "SALES TAX", "TAX(?![A-Z])", "VAT(?![A-Z])", "GST(?![A-Z])", "SST(?![A-Z])", "MW ?ST", "M W S T", "MEHRWERTSTEUER",
    "UST(?![A-Z])", "UMSATZSTEUER", "TVA", "T V A", "I ?V ?A(?![A-Z])", "CUOTA", "BTW", "STEUER", "SR(?![A-Z])",
)  # fmt: skip
CASH = _words(
    "CASH(?!IER)", "TENDERED", "TENDER", "BAR(?![A-Z])", "BARGELD", "GEGEBEN", "ESPECES", "RECU(?![A-Z])", "EFECTIVO",
    "ENTREGADO", "ENTREGA", "CONTANT[IE]?(?![A-Z])", "KONTANT", "TUNAI", "ERHALTEN",
)  # fmt: skip
CARD = _words(
    "VISA", "MASTER ?CARD", "AMEX", "AMERICAN EXPRESS", "DEBIT", "CREDIT(?![A-Z])", "CARD(?![A-Z])", "CONTACTLESS",
    "EC KARTE", "EC CASH", "GIROCARD", "KARTENZAHLUNG", "KREDITKARTE", "KARTE(?![A-Z])", "MAESTRO", "CARTE(?: BLEUE|"
    " BANCAIRE)?(?![A-Z])", "CB(?![A-Z])", "SANS CONTACT", "TARJETA", "CARTA(?: DI CREDITO)?(?![A-Z])", "BANCOMAT",
    "ELETTRONICO", "PIN(?:NEN)?(?![A-Z])", "BANKPAS", "BETAALPAS", "V PAY", "KAD KREDIT",
)  # fmt: skip
ONLINE = _words("PAYPAL", "APPLE PAY", "GOOGLE PAY", "IDEAL", "BIZUM", "KLARNA", "TWINT", "SATISPAY", "PAYCONIQ")
VOUCHER = _words("VOUCHER", "GIFT CARD", "GUTSCHEIN", "BON D ACHAT", "VALE(?![A-Z])", "BUONO", "CADEAUKAART")
CHANGE = _words(
    "CHANGE", "RUCKGELD", "RUECKGELD", "ZURUCK", "RENDU", "MONNAIE", "A RENDRE", "CAMBIO", "DEVOLUCION", "RESTO",
    "WISSELGELD", "TERUG", "RETOUR", "BAKI",
)  # fmt: skip
DATE = _words("DATE", "DATUM", "BELEGDATUM", "FECHA", "DATA(?![A-Z])", "TARIKH", "BESTELDATUM", "BESTELLDATUM")
OTHER_DATE = _words(
    "VALID", "EXPIR", "BEST BEFORE", "RETURN BY", "UNTIL", "DUE DATE", "GULTIG", "BIS ZUM", "UMTAUSCH", "VALABLE",
    "JUSQU", "VALIDO", "HASTA", "VALIDE", "SCADE", "FINO AL", "GELDIG", "TOT EN MET", "MEMBER SINCE", "BIRTH", "GEB",
    "ENTRY", "EINFAHRT", "ENTREE", "ENTRADA", "INGRESSO", "ARRIVAL", "LIEFER", "LIVRAISON", "DELIVERY", "ENTREGA",
    "CONSEGNA", "BEZORG", "NEXT", "SINCE", "SEIT", "PRINTED", "BORN", "DEPART", "ABFAHRT", "ECHEANCE", "DOSPEL",
    "PERIOD", "FROM", "TIL(?![A-Z])", "INRIJ", "IN(?= ?\\d)",
)  # fmt: skip
PHONE = _words(
    "TEL", "TELEPHONE", "TELEFON", "TELEFONO", "TELEFOON", "PHONE", "PH(?![A-Z])", "TLF", "CALL", "FON", "HOTLINE", "HP"
)
MALAY = _words("SDN", "BHD", "JALAN", "JLN", "TAMAN", "KUALA LUMPUR", "SELANGOR", "JOHOR")  # written without accents
RECEIPT = _words(
    "RECEIPT", "INVOICE", "KASSENBON", "KASSENBELEG", "RECHNUNG", "QUITTUNG", "BELEG", "BON(?:NR)?(?![A-Z])", "TICKET",
    "FACTUR", "FACTURE", "RECU", "RECIBO", "SCONTRINO", "RICEVUTA", "DOCUMENTO COMMERCIALE", "KASSABON", "CASHIER",
    "KASSE", "CAISSE", "CAJA", "CASSA", "KASSA", "TILL", "TERMINAL", "THANK", "DANK", "MERCI", "GRACIAS", "GRAZIE",
    "TABLE", "TISCH", "MESA", "TAVOLO", "TAFEL", "COPY", "P IVA", "SIRET", "KVK", "UID", "NIF", "CIF", "AUTH",
)  # fmt: skip


def fold(text: str) -> str:
    """Write a text in capitals without accents, letter for letter, so that places in it stay the same."""
    return "".join(_folded(letter) for letter in text)


def _folded(letter: str) -> str:
    upper = letter.upper()
    if len(upper) != 1:
        return letter
    base = unicodedata.normalize("NFD", upper)[0]
    return base if base.isascii() else upper


def without_accents(text: str) -> str:
    """Take accents away and leave letters as large as they are."""
    bases = (unicodedata.normalize("NFD", letter)[0] for letter in text)
    return "".join(base if base.isascii() else letter for base, letter in zip(bases, text, strict=True))
