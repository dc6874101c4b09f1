"""How a document looks: class, columns, sizes, fonts, headings, numbers, running heads."""

from dataclasses import dataclass

import numpy as np

from unrender.typesetting.dvi import POINTS_PER_INCH

PAPER, BOOK, LETTER = "paper", "book", "letter"
_T1 = r"\usepackage[T1]{fontenc}\renewcommand\ttdefault{txtt}\renewcommand\sfdefault{phv}"


def _family(name: str, mathematics: str) -> str:
    """Choose a text font by its family, without the package that needs more packages."""
    return _T1 + mathematics + rf"\renewcommand\rmdefault{{{name}}}"


FONTS = {
    "computer-modern": "",  # the only one in the old encoding
    "times": _T1 + r"\usepackage{mathptmx}",
    "tx": _T1 + r"\usepackage{txfonts}",
    "palatino": _T1 + r"\usepackage{mathpazo}",
    "px": _T1 + r"\usepackage{pxfonts}",
    "charter": _T1 + r"\usepackage[charter]{mathdesign}",
    "utopia": _T1 + r"\usepackage{fourier}",
    "libertine": _family("LinuxLibertineT-TLF", r"\usepackage{libertinust1math}"),
    "stix": _T1 + r"\usepackage{stix2}",
    "kp": _T1 + r"\usepackage{kpfonts}",
    "garamond": _family("EBGaramond-LF", r"\usepackage{mathpazo}"),
    "crimson": _family("Crimson-TLF", r"\usepackage{mathpazo}"),
    "merriweather": _family("Merriwthr-LF", r"\usepackage{fourier}"),
    "gentium": _family("gentium", r"\usepackage{mathptmx}"),
    "roboto": _family("Roboto-LF", r"\usepackage{arevmath}"),
    "schoolbook": _T1 + r"\usepackage{fouriernc}",
    "bookman": _T1 + r"\usepackage{bookman}",
    "fira": _family("FiraSans-TLF", r"\usepackage{arevmath}"),
    "helvetica": _T1 + r"\usepackage[scaled]{helvet}\usepackage{mathptmx}\renewcommand\familydefault{\sfdefault}",
    "arev": _T1 + r"\usepackage{arev}",
    "iwona": _T1 + r"\usepackage[math]{iwona}",
    "baskerville": _family("BaskervilleF-TLF", r"\usepackage{txfonts}"),
}
MEASURED_FONTS = ("iwona", "baskerville")  # only for pages that are held out
_AMS_SYMBOLS = frozenset(["tx", "px", "charter", "libertine", "stix", "kp", "baskerville"])
_USUAL_POINTS = range(10, 13)  # what the standard classes offer
_COLUMN_GAP = 20.0
_COMMON = 0.45  # share of Computer Modern
_SIZES = {"letter": (8.5 * POINTS_PER_INCH, 11.0 * POINTS_PER_INCH), "a4": (597.51, 845.05), "b5": (500.8, 711.3)}
_HEADINGS = (
    r"\normalfont\Large\bfseries", r"\normalfont\large\bfseries", r"\normalfont\large\scshape\centering",
    r"\normalfont\bfseries\centering", r"\normalfont\sffamily\large\bfseries", r"\normalfont\large\itshape",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Style:
    """One look; all documents of one run of TeX share it."""

    kind: str = PAPER
    document_class: str = "article"
    points: int = 10
    columns: int = 1
    font: str = "computer-modern"
    sheet: str = "letter"
    margin: float = POINTS_PER_INCH  # points, at the left and right
    top: float = 80.0
    spread: float = 1.0
    indent: float = 15.0
    skip: float = 0.0  # between paragraphs
    ragged: bool = False
    heading: str = _HEADINGS[0]
    numbered: bool = True
    dotted: bool = False  # 1. Introduction
    header: bool = False
    footer: bool = False
    folio: str = "bottom"  # or top, or none
    line_numbers: bool = False
    rules: str = "booktabs"  # or grid, lines, none
    left_numbers: bool = False  # equation numbers

    @property
    def width(self) -> float:
        """The width of the paper in points."""
        return _SIZES[self.sheet][0]

    @property
    def height(self) -> float:
        """The height of the paper in points."""
        return _SIZES[self.sheet][1]

    @property
    def column_width(self) -> float:
        return (self.width - 2 * self.margin - _COLUMN_GAP * (self.columns - 1)) / self.columns


def choose_style(rng: np.random.Generator, *, held: bool = False, kind: str = PAPER) -> Style:
    """Draw a look; pages that are held out may be set in fonts that training never shows."""
    columns = 2 if kind == PAPER and rng.random() < 0.45 else 1
    points = int(rng.choice([9, 10, 11] if columns == 2 else [10, 11, 12, 12 if kind == LETTER else 10]))
    fonts = [font for font in FONTS if held or font not in MEASURED_FONTS]
    font = "computer-modern" if rng.random() < _COMMON else str(rng.choice(fonts))
    sheet = str(rng.choice(["letter", "a4"] if kind != BOOK else ["letter", "a4", "b5"]))
    margin = float(
        rng.uniform(45, 65) if columns == 2 else rng.uniform(50, 65) if sheet == "b5" else rng.uniform(65, 125)
    )
    indented = rng.random() < 0.7 and kind != LETTER
    return Style(
        kind=kind,
        document_class=str(rng.choice(["article", "article", "report", "amsart"])) if kind == PAPER else "article",
        points=points,
        columns=columns,
        font=font,
        sheet=sheet,
        margin=margin,
        top=float(rng.uniform(60, 110)),
        spread=float(rng.choice([1.0, 1.0, 1.0, 1.1, 1.3, 1.6] if columns == 1 else [1.0, 1.0, 1.05])),
        indent=float(rng.uniform(10, 22)) if indented else 0.0,
        skip=0.0 if indented else float(rng.uniform(4, 9)),
        ragged=bool(rng.random() < (0.35 if kind == LETTER else 0.05)),
        heading=str(rng.choice(_HEADINGS)),
        numbered=bool(kind == PAPER and rng.random() < 0.75),
        dotted=bool(rng.random() < 0.4),
        header=bool(kind != LETTER and rng.random() < 0.55),
        footer=bool(rng.random() < 0.15),
        folio=str(rng.choice(["bottom", "bottom", "top", "none"])),
        line_numbers=bool(kind == PAPER and rng.random() < 0.06),
        rules=str(rng.choice(["booktabs", "booktabs", "grid", "lines", "none"])),
        left_numbers=bool(rng.random() < 0.05),
    )


def preamble(style: Style) -> str:
    """Write everything before the first page."""
    options = [f"{style.points}pt", *(["twocolumn"] if style.columns == 2 else [])]
    options += ["leqno"] if style.left_numbers else []
    document_class = style.document_class if style.points in _USUAL_POINTS else "extarticle"
    symbols = "" if style.font in _AMS_SYMBOLS else r"\usepackage{amssymb}"
    sheet = f"paperwidth={style.width}pt,paperheight={style.height}pt"
    sides = f"left={style.margin}pt,right={style.margin}pt,columnsep={_COLUMN_GAP}pt"
    area = f"{sides},top={style.top}pt,bottom={style.top + 10}pt"
    return "\n".join(
        [
            rf"\documentclass[{','.join(options)}]{{{document_class}}}",
            rf"\usepackage[{sheet},{area},headsep=18pt,footskip=26pt]{{geometry}}",
            r"\usepackage{amsmath,mathrsfs,booktabs}" + symbols + FONTS[style.font],
            r"\usepackage{lineno}" if style.line_numbers else "",
            _LAYOUT % (style.indent, style.skip, style.spread),
            _HEADING_COMMANDS % (style.heading, style.heading.replace(r"\Large", r"\large"), r"\normalfont\itshape"),
            _furniture(style),
            r"\raggedright" + rf"\parindent={style.indent}pt" if style.ragged else "",
        ]
    )


_LAYOUT = r"""\makeatletter
\def\U#1{\leavevmode\special{unrender #1}}
\def\E{\special{unrender end}}
\def\B#1{\immediate\write-1{unrender block #1}}
\def\@thefnmark{}\def\N#1{\@footnotetext{#1\E}}
\DeclareRobustCommand*\cal{\@fontswitch\relax\mathcal}
\DeclareRobustCommand*\mit{\@fontswitch\relax\mathnormal}
\parindent=%spt \parskip=%spt plus 1pt
\renewcommand\baselinestretch{%s}\normalsize
\hfuzz=4pt \vfuzz=20pt \hbadness=10000 \vbadness=10000 \tolerance=3000 \emergencystretch=3em
\interfootnotelinepenalty=10000 \clubpenalty=500 \widowpenalty=500 \raggedbottom
\renewcommand\@makefntext[1]{\noindent #1}
\def\topfraction{.9}\def\bottomfraction{.8}\def\textfraction{.07}\def\floatpagefraction{.6}
\setcounter{topnumber}{3}\setcounter{totalnumber}{4}
\allowdisplaybreaks[1]
\newlength\labelwide"""
_HEADING_COMMANDS = r"""\def\headinga#1{\@startsection{section}{1}{\z@}{-2.5ex plus -1ex}{1.3ex plus .3ex}{%s}*{#1}}
\def\headingb#1{\@startsection{subsection}{2}{\z@}{-2ex plus -1ex}{1ex plus .2ex}{%s}*{#1}}
\def\headingc#1{\@startsection{subsubsection}{3}{\z@}{-2ex plus -1ex}{.8ex plus .2ex}{%s}*{#1}}"""


_LINE_NUMBERS = r"\linenumbers\renewcommand\thelinenumber{\U{linenumber}\arabic{linenumber}\E}"


def _furniture(style: Style) -> str:
    """Define the page style; `\\runninghead` and `\\runningfoot` are set anew for each document."""
    folio = r"\U{folio}\thepage\E"
    head = r"\runninghead\hfil" if style.header else r"\hfil"
    head += folio if style.folio == "top" else ""
    foot = r"\runningfoot\hfil" if style.footer else r"\hfil"
    foot += folio + (r"\hfil" if not style.footer else "") if style.folio == "bottom" else ""
    numbers = _LINE_NUMBERS if style.line_numbers else ""
    return (
        rf"\def\ps@ours{{\def\@oddhead{{\normalfont\small {head}}}\let\@evenhead\@oddhead"
        rf"\def\@oddfoot{{\normalfont\small {foot}}}\let\@evenfoot\@oddfoot}}"
        r"\let\ps@plain\ps@ours\let\ps@firstpage\ps@ours\let\ps@empty\ps@ours\def\runninghead{}\def\runningfoot{}\pagestyle{ours}\makeatother"
        r"\AtBeginDocument{\pagestyle{ours}\raggedbottom" + numbers + "}"
    )
