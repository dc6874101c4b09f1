"""What receipts say in seven countries: shops, streets, goods, words before totals and dates. All names are invented."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Country:
    """The words of one country's receipts; `;` parts what is drawn from."""

    code: str
    currency: tuple[str, ...]  # as it is printed; {} is the amount
    comma: bool  # decimals after a comma
    dates: tuple[str, ...]  # of strftime
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
    rates: tuple[float, ...]
    cash: str
    card: str
    change: str
    date_words: str
    numbers: str  # what is counted: # is a digit
    headings: str
    goods: dict[str, str]
    farewells: str


_EN_GOODS = {
    "supermarket": "Whole Milk 1L;Bananas;Wheat Bread;Eggs 12;Cheddar 200g;Tomatoes;Chicken Breast;Butter;Rice 1kg;"
    "Orange Juice;Apples Gala;Paper Towels;Dish Soap;Pasta;Olive Oil;Yogurt Plain;Carrots;Dog Food;Coffee Ground",
    "petrol": "Unleaded;Diesel;Premium Unleaded;Car Wash;Engine Oil 1L;Regular",
    "restaurant": "Cheeseburger;Caesar Salad;Iced Tea;Fries;Ribeye 10oz;House Red;Coffee;Fish & Chips;Lemonade;"
    "Soup of the Day;Club Sandwich;Cheesecake;Draft Beer;Sunday Roast",
    "parking": "Parking;Short stay;Car park level 2",
    "pharmacy": "Ibuprofen 200mg;Vitamin C;Plasters;Cough Syrup;Toothpaste;Hand Cream;Rx 448120;Sunscreen SPF30",
    "email": "Premium plan, monthly;Phone case;USB-C cable;Desk lamp;Ticket, adult;E-book;Gift card;Delivery",
}

COUNTRIES: tuple[Country, ...] = (
    Country(
        code="US",
        currency=("${}", "{}", "$ {}", "USD {}"),
        comma=False,
        dates=("%m/%d/%Y", "%m/%d/%y", "%b %d, %Y", "%m-%d-%Y", "%B %d, %Y", "%d-%b-%y"),
        months="",
        names="Maplewood;Riverside;Sunny Creek;Blue Ridge;Harbor;Oakdale;Frontier;Pioneer;Lakeview;Prairie;Liberty;Hilltop",
        shops={
            "supermarket": "{name} Market;{name} Foods;{name} Grocery #214;FRESH {name}",
            "petrol": "{name} Gas & Go;{name} Fuel;{name} Travel Center",
            "restaurant": "{name} Grill;{name} Diner;The {name} Tavern;{name} Coffee Co.",
            "parking": "{name} Parking;{name} Garage",
            "pharmacy": "{name} Pharmacy;{name} Drug",
            "email": "{name};{name} Store;{name} Tickets",
        },
        firms=";;;Inc.;LLC",
        streets="{n} {name} Ave;{n} Main St;{n} N {name} Blvd;{n} State Route {n};{n} {name} Rd Suite {n};{n} E 5th Street",
        cities="Austin, TX 787##;Denver, CO 802##;Columbus, OH 432##;Portland OR 972##;Tampa, FL 336##;Boise, ID 837##",
        phones="(512) 555-01##;303-555-01##;614.555.01##;+1 813 555 01##",
        totals="TOTAL;Total;GRAND TOTAL;Amount Due;BALANCE DUE;TOTAL DUE;Total Charged;TOTAL SALE;Order Total;FUEL TOTAL",
        subtotals="SUBTOTAL;Subtotal;SUB TOTAL;Merchandise",
        taxes="TAX;SALES TAX {rate}%;Tax 1 {rate}%;State Tax;TAX {rate}",
        rates=(6.25, 7.0, 8.25, 8.875),
        cash="CASH;Cash Tendered;CASH TEND",
        card="VISA;MASTERCARD;DEBIT;AMEX;VISA CREDIT;Visa ending in ####",
        change="CHANGE;CHANGE DUE;Change",
        date_words="Date:;DATE;;;Order date:;Date/Time",
        numbers="TRN # ######;Register 0#;Check # ####;Store ####;Invoice ######;Server: {name};AUTH ######;Pump 0#;"
        "Order #########;Ticket ######",
        headings="RECEIPT;SALE;CUSTOMER COPY;Your receipt;;;",
        goods=_EN_GOODS,
        farewells="THANK YOU;Thank you for shopping with us!;Have a great day;PLEASE COME AGAIN;Survey: www.tellus.example;"
        "RETURNS WITHIN 30 DAYS;ITEMS SOLD #",
    ),
    Country(
        code="UK",
        currency=("£{}", "{}", "GBP {}", "£ {}"),
        comma=False,
        dates=("%d/%m/%Y", "%d/%m/%y", "%d %b %Y", "%d-%m-%Y", "%d %B %Y", "%d%b%y"),
        months="",
        names="Ashby;Thornbury;Kingsmead;Fairfield;Wexcombe;Harrow Lane;Ravensworth;Oakhurst;Penrose;Bramley;Whitcliffe",
        shops={
            "supermarket": "{name} Supermarkets;{name} Food Hall;{name} Local;{name} Stores",
            "petrol": "{name} Filling Station;{name} Service Station;{name} Motorway Services",
            "restaurant": "The {name} Arms;{name} Kitchen;{name} Tea Rooms;{name} Fish Bar",
            "parking": "{name} Car Park;{name} Parking",
            "pharmacy": "{name} Chemist;{name} Pharmacy",
            "email": "{name};{name} Online;{name} Rail",
        },
        firms=";;;Ltd;LIMITED;plc",
        streets="{n} High Street;{n} {name} Road;{n}-{n} Station Road;Unit {n}, {name} Retail Park;The Green",
        cities="London SW1A #AA;Leeds LS1 #BD;Bristol BS# 4QT;Reading RG1 #JN;York YO1 #HH;Manchester M# 2WD",
        phones="020 7946 0###;01632 960###;0117 496 0###;+44 1632 960###",
        totals="TOTAL;Total;TOTAL TO PAY;BALANCE DUE;Total to pay;AMOUNT DUE;TOTAL PAID;TOTAL GBP;Order total",
        subtotals="SUBTOTAL;Sub-total;SUB TOTAL;Goods total",
        taxes="VAT {rate}%;VAT @ {rate}%;incl. VAT {rate}%;VAT",
        rates=(20.0, 5.0),
        cash="CASH;Cash",
        card="VISA DEBIT;CONTACTLESS;MASTERCARD;CARD;Card ending ####;DEBIT MASTERCARD",
        change="CHANGE;Change due;CHANGE DUE",
        date_words="Date:;DATE;;;Order placed:;Date",
        numbers="VAT NO. GB ### #### ##;Till 0# Op ###;Receipt no ######;Served by {name};TABLE ##;MID ******####;"
        "AID: A0000000031010;Pump #;Entry ##:##",
        headings="VAT RECEIPT;Receipt;CUSTOMER COPY;SALE;;;",
        goods=_EN_GOODS,
        farewells="Thank you for shopping with us;THANK YOU;Please retain for your records;See you again soon;"
        "Points this visit ##;Please keep this receipt",
    ),
    Country(
        code="DE",
        currency=("{}", "{} EUR", "{} €", "EUR {}", "€ {}"),
        comma=True,
        dates=("%d.%m.%Y", "%d.%m.%y", "%d. %B %Y", "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y"),
        months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        names="Lindner;Bergmann;Sonnenhof;Rosenthal;Hagedorn;Waldeck;Kirchner;Seeblick;Fuchs;Nordstern;Auerbach;Weiß",
        shops={
            "supermarket": "{name} Markt;{name} Frischemarkt;{name} Getränkemarkt;{name} Bioladen;{name} Center",
            "petrol": "{name} Tankstelle;Tankstelle {name};{name} Autohof;Station {name}",
            "restaurant": "Gasthaus {name};Restaurant {name};Café {name};Pizzeria {name};Bäckerei {name}",
            "parking": "Parkhaus {name};Tiefgarage {name}",
            "pharmacy": "{name} Apotheke;Apotheke am {name};Drogerie {name}",
            "email": "{name};{name} Versand;{name} Shop",
        },
        firms=";;GmbH;GmbH & Co. KG;e.K.;KG;AG;OHG",
        streets="Hauptstr. {n};{name}straße {n};Bahnhofstraße {n};Am Markt {n};Lange Gasse {n}a;{name}weg {n}-{n};{name} Allee {n}",
        cities="10### Berlin;80### München;D-50### Köln;20### Hamburg;70### Stuttgart;04### Leipzig;60### Frankfurt am Main",
        phones="Tel. 030 / 23 12 ###;0221-555 ###;+49 89 1234##;Telefon: 040/3456##;07131/99 ##-0",
        totals="SUMME;Summe;Gesamtbetrag;GESAMT;Zu zahlen;ZU ZAHLEN;Endbetrag;Rechnungsbetrag;TOTAL;Summe EUR;Gesamtsumme;Betrag",
        subtotals="Zwischensumme;Netto;Nettobetrag;Summe Netto;Warenwert",
        taxes="MwSt {rate}%;enth. MwSt. {rate} %;A={rate}% MWST;USt {rate}%;inkl. {rate}% MwSt;MwSt. B {rate}%",
        rates=(19.0, 7.0),
        cash="BAR;Bar;Gegeben BAR;Bargeld;Gegeben",
        card="EC-Karte;Girocard;Kartenzahlung;VISA;Mastercard;EC-Cash;Kreditkarte;PayPal",
        change="Rückgeld;RÜCKGELD;Zurück;Rückgeld BAR",
        date_words="Datum:;DATUM;;;Datum;Belegdatum:;Bestelldatum:",
        numbers="Bon-Nr. ####;Beleg-Nr. ######;Kasse #;Es bediente Sie {name};UID Nr.: DE#########;St.-Nr. ##/###/#####;"
        "Tisch ##;Terminal-ID ########;TA-Nr. ######;Zapfsäule #;Rechnung Nr. ######;TSE-Signatur ########",
        headings="Kassenbon;Rechnung;Quittung;Kundenbeleg;Bewirtungsbeleg;KASSENBELEG;;;",
        goods={
            "supermarket": "Vollmilch 3,5%;Bananen;Roggenbrot;Eier 10er;Gouda jung;Tomaten;Hähnchenbrust;Butter;Reis 1kg;"
            "Apfelsaft;Kartoffeln;Spülmittel;Nudeln;Joghurt;Pfand 0,25;Mineralwasser;Bio Möhren;Schokolade",
            "petrol": "Super E10;Diesel;Super 95;Autowäsche;Motoröl 1L;Super Plus",
            "restaurant": "Wiener Schnitzel;Apfelschorle 0,4;Helles 0,5;Kässpätzle;Espresso;Tagessuppe;Pizza Margherita;"
            "Cola 0,3;Gem. Salat;Brezel;Milchkaffee;Zwiebelrostbraten",
            "parking": "Parkgebühr;Parkentgelt;Parken Ebene 2",
            "pharmacy": "Ibuprofen 400;Pflaster;Hustensaft;Zahnpasta;Handcreme;Nasenspray 10ml;Vitamin C;Zuzahlung",
            "email": "Premium-Abo, monatlich;Handyhülle;USB-Kabel;Schreibtischlampe;Fahrkarte;Versandkosten;E-Book",
        },
        farewells="Vielen Dank für Ihren Einkauf!;Auf Wiedersehen;VIELEN DANK;Umtausch nur mit Bon;Gute Fahrt!;"
        "Es gelten unsere AGB;Bitte beehren Sie uns bald wieder;Punkte: ##",
    ),
    Country(
        code="FR",
        currency=("{}", "{} €", "{}€", "{} EUR", "EUR {}"),
        comma=True,
        dates=("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y", "%d %B %Y", "%d.%m.%Y"),
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        names="Beaulieu;Lafontaine;Bellevue;Moreau;Clairval;Rivière;Montfleur;Garnier;Soleil;Duval;Saint-Martin;Lefort",
        shops={
            "supermarket": "{name} Marché;Supermarché {name};Épicerie {name};{name} Express",
            "petrol": "Station {name};Relais {name};{name} Carburants",
            "restaurant": "Restaurant {name};Brasserie {name};Chez {name};Café {name};Boulangerie {name};Le {name}",
            "parking": "Parking {name};Parc {name}",
            "pharmacy": "Pharmacie {name};Pharmacie du {name};Parapharmacie {name}",
            "email": "{name};{name} Boutique;{name} Voyages",
        },
        firms=";;SARL;SAS;S.A.;EURL",
        streets="{n} rue de {name};{n}, avenue {name};{n} bd {name};Place {name};{n} bis rue du Marché;ZAC de {name};{n} chemin {name}",
        cities="7500# Paris;6900# Lyon;33000 BORDEAUX;13### Marseille;59000 Lille;35### RENNES;44000 Nantes;31### Toulouse",
        phones="Tél. 01 40 ## ## ##;04.72.##.##.##;Tel : 05 56 ## ## ##;+33 3 20 ## ## ##",
        totals="TOTAL TTC;TOTAL;Total TTC;NET A PAYER;Net à payer;TOTAL A PAYER;Montant total;Total à payer;MONTANT;MONTANT REEL;"
        "TOTAL EUR;Montant TTC;TOTAL DU",
        subtotals="Sous-total;TOTAL HT;Total HT;SOUS TOTAL;Montant HT",
        taxes="TVA {rate}%;dont TVA {rate} %;TVA {rate};T.V.A. {rate}%",
        rates=(20.0, 10.0, 5.5),
        cash="ESPECES;Espèces;Especes EUR;Recu",
        card="CB;Carte bancaire;CARTE BLEUE;CB EMV;VISA;CARTE;Sans contact;MASTERCARD",
        change="RENDU;Monnaie rendue;A RENDRE;Rendu monnaie",
        date_words="Date :;DATE;le;;;Le;Date de commande :",
        numbers="Ticket n° ####;Caisse 0#;SIRET ### ### ### 000##;TVA FR## #########;Facture ######;Table ##;Couverts #;"
        "Servi par {name};Pompe #;NAF 4711D;No autor. ######",
        headings="TICKET DE CAISSE;Facture;TICKET CLIENT;Reçu;Note;A CONSERVER;;;",
        goods={
            "supermarket": "Lait demi-écrémé;Bananes;Baguette;Oeufs x6;Comté 200g;Tomates;Filet de poulet;Beurre doux;Riz 1kg;"
            "Jus d'orange;Pommes;Liquide vaisselle;Pâtes;Yaourt nature;Jambon;Eau 6x1,5L;Salade;Chocolat noir",
            "petrol": "SP95-E10;Gazole;SP98;Lavage auto;Huile moteur;E85",
            "restaurant": "Plat du jour;Steak frites;Café;Pichet rouge 50cl;Formule midi;Salade niçoise;Crème brûlée;Eau gaz.;"
            "Menu enfant;Croque-monsieur;Demi pression;Thé",
            "parking": "Stationnement;Droit de parking;Durée 2h10",
            "pharmacy": "Doliprane 1000;Pansements;Sirop toux;Dentifrice;Crème mains;Vitamine C;Spray nasal",
            "email": "Abonnement mensuel;Coque téléphone;Câble USB;Lampe de bureau;Billet adulte;Frais de port;Livre numérique",
        },
        farewells="Merci de votre visite;MERCI ET A BIENTOT;Au revoir;Bonne journée;Ticket à conserver;Vos points: ##;Bonne route",
    ),
    Country(
        code="ES",
        currency=("{}", "{} €", "{}€", "{} EUR"),
        comma=True,
        dates=("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y", "%d %B %Y", "%d.%m.%y"),
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        names="Olivares;La Huerta;Montesol;San Roque;Miramar;Castellar;El Prado;Navarrete;Las Fuentes;Robledo;Peñalver",
        shops={
            "supermarket": "Supermercados {name};{name} Alimentación;Autoservicio {name};Mercado {name}",
            "petrol": "E.S. {name};Estación de Servicio {name};Gasolinera {name}",
            "restaurant": "Restaurante {name};Bar {name};Mesón {name};Cafetería {name};Taberna {name}",
            "parking": "Parking {name};Aparcamiento {name}",
            "pharmacy": "Farmacia {name};Parafarmacia {name};Farmacia Lda. {name}",
            "email": "{name};Tienda {name};{name} Viajes",
        },
        firms=";;S.L.;S.A.;SL;C.B.;SLU",
        streets="C/ {name}, {n};Calle Mayor {n};Avda. {name} {n};Plaza {name}, {n};Ctra. {name} km {n};Paseo de {name} {n}, local {n}",
        cities="280## Madrid;080## Barcelona;41### Sevilla;460## VALENCIA;50### Zaragoza;48### Bilbao (Vizcaya);29### Málaga",
        phones="Tel. 91 555 ## ##;93 555 ####;Tlf: 954 55 ## ##;+34 963 55 ## ##;Teléfono 976 55####",
        totals="TOTAL;Total a pagar;TOTAL A PAGAR;IMPORTE TOTAL;Importe;TOTAL EUROS;Total (€);TOTAL COMPRA;TOTAL FACTURA;"
        "Total IVA incl.",
        subtotals="Subtotal;Base imponible;SUBTOTAL;BASE IMP.",
        taxes="IVA {rate}%;I.V.A. {rate}%;Cuota IVA {rate}%;IVA ({rate}%)",
        rates=(21.0, 10.0, 4.0),
        cash="EFECTIVO;Efectivo;Entregado;ENTREGA",
        card="TARJETA;Tarjeta bancaria;VISA;Pago con tarjeta;TARJETA CREDITO;Bizum;MASTERCARD",
        change="CAMBIO;Cambio;Devolución;Su cambio",
        date_words="Fecha:;FECHA;;;Fecha;Fecha pedido:;Fecha y hora",
        numbers="Ticket ######;Factura simplificada ####-######;NIF B########;CIF: A########;Caja #;Mesa ##;Le atendió {name};"
        "Op. ######;Surtidor #;Comensales #;Nº Operación ######",
        headings="FACTURA SIMPLIFICADA;Ticket;Recibo;COPIA CLIENTE;Documento de venta;;;",
        goods={
            "supermarket": "Leche entera;Plátanos;Pan barra;Huevos docena;Queso curado;Tomate rama;Pechuga pollo;Mantequilla;"
            "Arroz 1kg;Zumo naranja;Manzanas;Lavavajillas;Macarrones;Yogur natural;Jamón serrano;Agua 6x1,5L;Aceite oliva",
            "petrol": "Gasolina 95;Gasóleo A;Sin plomo 98;Lavado;Aceite motor;Diesel e+",
            "restaurant": "Menú del día;Caña;Café con leche;Tortilla;Ración jamón;Ensalada mixta;Agua;Vino tinto;Postre;Bocadillo;"
            "Croquetas;Pulpo gallega",
            "parking": "Estancia;Aparcamiento rotación;Tiempo 1h 35m",
            "pharmacy": "Ibuprofeno 600;Tiritas;Jarabe tos;Pasta dental;Crema manos;Vitamina C;Spray nasal",
            "email": "Suscripción mensual;Funda móvil;Cable USB;Lámpara;Billete adulto;Gastos de envío;Libro digital",
        },
        farewells="Gracias por su visita;GRACIAS POR SU COMPRA;Vuelva pronto;Conserve su ticket;IVA incluido;Buen viaje;"
        "Devoluciones 15 días con ticket",
    ),
    Country(
        code="IT",
        currency=("{}", "€ {}", "{} €", "EUR {}", "EURO {}"),
        comma=True,
        dates=("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y", "%d-%m-%y", "%d %B %Y"),
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        names="Bellini;Ferrante;Montalto;La Quercia;Girasole;Rinaldi;San Marco;Colombo;Valverde;Aurora;Del Corso;Castagna",
        shops={
            "supermarket": "Supermercati {name};{name} Market;Alimentari {name};Ipermercato {name}",
            "petrol": "Stazione {name};{name} Carburanti;Area di servizio {name}",
            "restaurant": "Ristorante {name};Trattoria {name};Pizzeria {name};Bar {name};Osteria {name};Gelateria {name}",
            "parking": "Parcheggio {name};Autorimessa {name}",
            "pharmacy": "Farmacia {name};Parafarmacia {name};Farmacia Dott. {name}",
            "email": "{name};{name} Negozio;{name} Viaggi",
        },
        firms=";;S.r.l.;SRL;S.p.A.;S.N.C.;di Rossi & C. sas",
        streets="Via {name}, {n};Via Roma {n};Piazza {name} {n};Corso {name}, {n}/A;Viale dei Tigli {n};Largo {name} {n}",
        cities="001## Roma (RM);201## Milano MI;50### FIRENZE;101## Torino (TO);801## Napoli;40### Bologna BO;37### Verona (VR)",
        phones="Tel. 06 555####;02/555####;Tel: 055-55####;+39 011 555###",
        totals="TOTALE;TOTALE COMPLESSIVO;TOTALE EURO;Totale;IMPORTO PAGATO;Totale da pagare;TOTALE EUR;Importo totale;"
        "TOTALE DOCUMENTO;TOT. COMPLESSIVO",
        subtotals="SUBTOTALE;Subtotale;Imponibile;SUB-TOTALE",
        taxes="di cui IVA {rate}%;IVA {rate}%;DI CUI IVA;I.V.A. {rate}%",
        rates=(22.0, 10.0, 4.0),
        cash="CONTANTI;Contante;PAGAMENTO CONTANTE",
        card="CARTA DI CREDITO;BANCOMAT;Pagamento elettronico;POS;VISA;Carta;Elettronico",
        change="RESTO;Resto",
        date_words="Data:;DATA;;;del;Data;Data ordine:",
        numbers="DOCUMENTO N. ####-####;P.IVA ###########;RT 96SRT######;Cassa #;Tavolo ##;Coperti #;Operatore {name};"
        "Scontrino n. ####;Pompa #;Partita IVA ###########;N. AUT. ######",
        headings="DOCUMENTO COMMERCIALE di vendita o prestazione;Ricevuta;SCONTRINO;COPIA CLIENTE;Ricevuta fiscale;;;",
        goods={
            "supermarket": "Latte intero;Banane;Pane casereccio;Uova 6pz;Parmigiano 24m;Pomodori;Petto di pollo;Burro;Riso 1kg;"
            "Succo arancia;Mele;Detersivo piatti;Spaghetti;Yogurt bianco;Prosciutto cotto;Acqua 6x1,5;Olio EVO;Caffè",
            "petrol": "Senza piombo;Gasolio;Benzina;Autolavaggio;Olio motore;GPL",
            "restaurant": "Coperto;Margherita;Acqua nat. 75cl;Caffè;Spaghetti vongole;Tiramisù;Birra media;Insalata mista;"
            "Vino casa 1/2;Bistecca;Cappuccino;Cornetto",
            "parking": "Sosta;Parcheggio;Sosta ore 2:15",
            "pharmacy": "Tachipirina 500;Cerotti;Sciroppo tosse;Dentifricio;Crema mani;Vitamina C;FARMACO;Spray nasale",
            "email": "Abbonamento mensile;Custodia;Cavo USB;Lampada;Biglietto adulto;Spedizione;Libro digitale",
        },
        farewells="Grazie e arrivederci;ARRIVEDERCI E GRAZIE;Buona giornata;Conservare lo scontrino;Punti: ##;Buon viaggio",
    ),
    Country(
        code="NL",
        currency=("{}", "€ {}", "€{}", "EUR {}", "{} EUR"),
        comma=True,
        dates=("%d-%m-%Y", "%d/%m/%Y", "%d-%m-%y", "%d %B %Y", "%d.%m.%Y"),
        months="januari februari maart april mei juni juli augustus september oktober november december",
        names="De Linde;Van Dijk;Zonneveld;De Molen;Oosterhof;Bakker;'t Hoekje;Waterland;De Gouden Leeuw;Vermeer;Noordzicht",
        shops={
            "supermarket": "{name} Supermarkt;{name} Markt;Buurtwinkel {name};{name} XL",
            "petrol": "Tankstation {name};{name} Tankservice;{name} Langs de Weg",
            "restaurant": "Restaurant {name};Eetcafé {name};Café {name};Lunchroom {name};Bakkerij {name}",
            "parking": "Parkeergarage {name};Parkeren {name}",
            "pharmacy": "Apotheek {name};Drogisterij {name}",
            "email": "{name};Webwinkel {name};{name} Reizen",
        },
        firms=";;B.V.;BV;V.O.F.;vof",
        streets="Dorpsstraat {n};{name}straat {n};Kerkweg {n}a;Stationsplein {n};{name}laan {n}-{n};Markt {n};Industrieweg {n}",
        cities="10## AB Amsterdam;30## CD Rotterdam;35## KL UTRECHT;56## BX Eindhoven;25## EK Den Haag;97## GH Groningen",
        phones="Tel. 020-555####;010 555 ## ##;Tel: 030-55#####;+31 40 55# ## ##",
        totals="TOTAAL;Totaal;TE BETALEN;Te betalen;Totaalbedrag;TOTAAL EUR;Totaal incl. BTW;BEDRAG;Totaal te betalen;Eindtotaal",
        subtotals="SUBTOTAAL;Subtotaal;Totaal excl. BTW;Netto",
        taxes="BTW {rate}%;waarvan BTW {rate}%;BTW hoog {rate}%;BTW laag {rate}%",
        rates=(21.0, 9.0),
        cash="CONTANT;Contant;Kontant",
        card="PIN;PINNEN;Bankpas;Maestro;BETAALPAS;VISA;iDEAL;V PAY",
        change="WISSELGELD;Wisselgeld;Terug;Retour",
        date_words="Datum:;DATUM;;;Datum;Besteldatum:",
        numbers="Bonnr. ######;Kassa #;KvK ########;BTW nr NL#########B01;Tafel ##;U bent geholpen door {name};Terminal: ######;"
        "Factuurnr. ######;Pomp #;Autorisatiecode ######;Transactie: ########",
        headings="KASSABON;Bon;Factuur;Kopie kaarthouder;Rekening;KLANTTICKET;;;",
        goods={
            "supermarket": "Halfvolle melk;Bananen;Volkoren brood;Eieren 10st;Jonge kaas;Tomaten;Kipfilet;Roomboter;Rijst 1kg;"
            "Sinaasappelsap;Appels;Afwasmiddel;Spaghetti;Yoghurt;Statiegeld;Hagelslag;Spa rood;Stroopwafels",
            "petrol": "Euro 95;Diesel;Superplus 98;Autowas;Motorolie;LPG",
            "restaurant": "Uitsmijter;Koffie;Bitterballen;Biertje;Tosti ham kaas;Dagschotel;Appeltaart;Cola;Huiswijn;Soep vd dag;"
            "Pannenkoek;Frites",
            "parking": "Parkeren;Parkeergeld;Kort parkeren",
            "pharmacy": "Paracetamol 500;Pleisters;Hoestdrank;Tandpasta;Handcrème;Vitamine C;Neusspray",
            "email": "Abonnement, maand;Telefoonhoes;USB-kabel;Bureaulamp;Kaartje volwassene;Verzendkosten;E-book",
        },
        farewells="Bedankt en tot ziens;TOT ZIENS;Dank u wel;Bewaar deze bon;Ruilen binnen 14 dagen met bon;Goede reis;"
        "Wij wensen u een fijne dag",
    ),
)
