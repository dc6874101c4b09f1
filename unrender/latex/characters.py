"""LaTeX symbols as Unicode characters with the part each plays in a formula."""

# ruff: noqa: RUF001 - characters that look alike are the very point here

from typing import Literal

Role = Literal["ordinary", "binary", "relation", "large", "open", "close", "punctuation"]
Font = Literal["italic", "roman", "bold", "script", "blackboard", "fraktur", "sans", "typewriter"]

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "varkappa": "ϰ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "omicron": "ο", "pi": "π", "varpi": "ϖ", "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "varsigma": "ς",
    "tau": "τ", "upsilon": "υ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ",
    "Psi": "Ψ", "Omega": "Ω", "digamma": "ϝ",
}  # fmt: skip
LETTERS = {
    **GREEK, "ell": "ℓ", "imath": "ı", "jmath": "ȷ", "hbar": "ℏ", "hslash": "ℏ", "wp": "℘", "i": "ı", "j": "ȷ",
    "l": "ł", "L": "Ł", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å",
    "ss": "ß", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "beth": "ℶ", "gimel": "ℷ", "eth": "ð",
}  # fmt: skip
_ORDINARY = {
    "partial": "∂", "infty": "∞", "nabla": "∇", "prime": "′", "forall": "∀", "exists": "∃", "nexists": "∄",
    "emptyset": "∅", "varnothing": "∅", "neg": "¬", "lnot": "¬", "ldots": "…", "dots": "…", "dotsc": "…", "dotso": "…",
    "cdots": "⋯", "dotsb": "⋯", "dotsm": "⋯", "dotsi": "⋯", "vdots": "⋮", "ddots": "⋱", "angle": "∠", "triangle": "△",
    "bigtriangleup": "△", "bigtriangledown": "▽", "square": "□", "Box": "□", "blacksquare": "■", "diamondsuit": "♢",
    "heartsuit": "♡", "clubsuit": "♣", "spadesuit": "♠", "flat": "♭", "natural": "♮", "sharp": "♯", "top": "⊤",
    "bot": "⊥", "surd": "√", "backslash": "\\", "S": "§", "P": "¶", "pounds": "£", "copyright": "©", "degree": "°",
    "checkmark": "✓", "complement": "∁", "_": "_", "#": "#", "%": "%", "&": "&", "$": "$", "vert": "|", "Vert": "‖",
    "|": "‖", "hline": "", "bigcirc": "◯", "dag": "†", "ddag": "‡",
}  # fmt: skip
_BINARY = {
    "pm": "±", "mp": "∓", "times": "×", "div": "÷", "cdot": "⋅", "cdotp": "⋅", "ast": "∗", "star": "⋆", "circ": "∘",
    "bullet": "∙", "wedge": "∧", "land": "∧", "vee": "∨", "lor": "∨", "cap": "∩", "cup": "∪", "sqcap": "⊓",
    "sqcup": "⊔", "uplus": "⊎", "oplus": "⊕", "ominus": "⊖", "otimes": "⊗", "oslash": "⊘", "odot": "⊙", "dagger": "†",
    "ddagger": "‡", "setminus": "∖", "amalg": "⨿", "diamond": "⋄", "triangleright": "▹", "triangleleft": "◃",
    "wr": "≀", "slash": "/", "ltimes": "⋉", "rtimes": "⋊", "boxtimes": "⊠", "boxplus": "⊞", "bigstar": "★",
}  # fmt: skip
_RELATIONS = {
    "equiv": "≡", "sim": "∼", "simeq": "≃", "approx": "≈", "cong": "≅", "neq": "≠", "ne": "≠", "leq": "≤", "le": "≤",
    "geq": "≥", "ge": "≥", "ll": "≪", "gg": "≫", "leqslant": "⩽", "geqslant": "⩾", "lesssim": "≲", "gtrsim": "≳",
    "propto": "∝", "asymp": "≍", "doteq": "≐", "prec": "≺", "succ": "≻", "preceq": "⪯", "succeq": "⪰", "in": "∈",
    "notin": "∉", "ni": "∋", "owns": "∋", "subset": "⊂", "supset": "⊃", "subseteq": "⊆", "supseteq": "⊇",
    "subsetneq": "⊊", "sqsubset": "⊏", "sqsubseteq": "⊑", "sqsupset": "⊐", "sqsupseteq": "⊒", "perp": "⟂",
    "parallel": "∥", "nparallel": "∦", "mid": "∣", "nmid": "∤", "vdash": "⊢", "dashv": "⊣", "models": "⊨",
    "vDash": "⊨", "bowtie": "⋈", "smile": "⌣", "frown": "⌢", "colon": ":", "triangleq": "≜", "coloneqq": "≔",
    "rightarrow": "→", "to": "→", "leftarrow": "←", "gets": "←", "leftrightarrow": "↔", "Rightarrow": "⇒",
    "Leftarrow": "⇐", "Leftrightarrow": "⇔", "iff": "⟺", "implies": "⟹", "longrightarrow": "⟶",
    "longleftarrow": "⟵", "longleftrightarrow": "⟷", "Longrightarrow": "⟹", "Longleftarrow": "⟸",
    "Longleftrightarrow": "⟺", "mapsto": "↦", "longmapsto": "⟼", "hookrightarrow": "↪", "hookleftarrow": "↩",
    "uparrow": "↑", "downarrow": "↓", "updownarrow": "↕", "Uparrow": "⇑", "Downarrow": "⇓", "Updownarrow": "⇕",
    "nearrow": "↗", "searrow": "↘", "swarrow": "↙", "nwarrow": "↖", "rightharpoonup": "⇀", "rightharpoondown": "⇁",
    "leftharpoonup": "↼", "leftharpoondown": "↽", "rightleftharpoons": "⇌",
    "leftrightharpoons": "⇋", "leadsto": "⇝", "rightsquigarrow": "⇝",
    "therefore": "∴", "because": "∵", "lhd": "⊲", "rhd": "⊳", "unlhd": "⊴", "unrhd": "⊵",
}  # fmt: skip
_LARGE = {
    "sum": "∑", "prod": "∏", "coprod": "∐", "int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮", "smallint": "∫",
    "bigcup": "⋃", "bigcap": "⋂", "bigsqcup": "⨆", "bigvee": "⋁", "bigwedge": "⋀", "bigoplus": "⨁", "bigotimes": "⨂",
    "bigodot": "⨀", "biguplus": "⨄",
}  # fmt: skip
_OPEN = {"langle": "⟨", "lfloor": "⌊", "lceil": "⌈", "lbrack": "[", "lbrace": "{", "{": "{", "lvert": "|",
         "lVert": "‖", "ulcorner": "⌜", "lgroup": "⟮", "lmoustache": "⎰"}  # fmt: skip
_CLOSE = {"rangle": "⟩", "rfloor": "⌋", "rceil": "⌉", "rbrack": "]", "rbrace": "}", "}": "}", "rvert": "|",
          "rVert": "‖", "urcorner": "⌝", "rgroup": "⟯", "rmoustache": "⎱"}  # fmt: skip
_CHARACTERS: dict[str, tuple[str, Role]] = {
    "+": ("+", "binary"), "-": ("−", "binary"), "--": ("–", "binary"), "---": ("—", "binary"), "*": ("∗", "binary"),
    "/": ("/", "binary"), "=": ("=", "relation"), "<": ("<", "relation"), ">": (">", "relation"),
    ":": (":", "relation"), "(": ("(", "open"), "[": ("[", "open"), ")": (")", "close"), "]": ("]", "close"),
    ",": (",", "punctuation"), ";": (";", "punctuation"), ".": (".", "punctuation"), "!": ("!", "ordinary"),
    "?": ("?", "ordinary"), "|": ("|", "ordinary"), "'": ("′", "ordinary"), "@": ("@", "ordinary"),
    '"': ("″", "ordinary"), "`": ("‘", "ordinary"),
}  # fmt: skip
_TABLES: tuple[tuple[dict[str, str], Role], ...] = (
    (_ORDINARY, "ordinary"),
    (_BINARY, "binary"),
    (_RELATIONS, "relation"),
    (_LARGE, "large"),
    (_OPEN, "open"),
    (_CLOSE, "close"),
)
SIGNS: dict[str, tuple[str, Role]] = {
    **_CHARACTERS,
    **{"\\" + name: (character, role) for table, role in _TABLES for name, character in table.items()},
}
DELIMITERS = {token: character for token, (character, _) in SIGNS.items()} | {".": "", "<": "⟨", ">": "⟩"}

NEGATED = {"=": "≠", "≡": "≢", "∼": "≁", "≃": "≄", "≈": "≉", "≅": "≇", "<": "≮", ">": "≯", "≤": "≰", "≥": "≱",
           "∈": "∉", "∋": "∌", "⊂": "⊄", "⊃": "⊅", "⊆": "⊈", "⊇": "⊉", "∣": "∤", "∥": "∦", "∃": "∄", "→": "↛",
           "←": "↚", "↔": "↮", "⇒": "⇏"}  # fmt: skip

SPACES = {  # in em
    "\\,": 3 / 18, "\\thinspace": 3 / 18, "\\:": 4 / 18, "\\>": 4 / 18, "\\medspace": 4 / 18, "\\;": 5 / 18,
    "\\thickspace": 5 / 18, "\\!": -3 / 18, "\\negthinspace": -3 / 18, "\\": 0.333, "~": 0.333, "\\space": 0.333,
    "\\enspace": 0.5, "\\enskip": 0.5, "\\quad": 1.0, "\\qquad": 2.0, "\\hfill": 1.0, "\\hfil": 1.0,
}  # fmt: skip
EM_OF_UNIT = {"em": 1.0, "ex": 0.43, "pt": 0.1, "pc": 1.2, "mm": 0.285, "cm": 2.85, "in": 7.23, "mu": 1 / 18}
SILENT = frozenset(
    "\\" + name
    for name in ("displaystyle", "textstyle", "scriptstyle", "scriptscriptstyle", "tiny", "scriptsize", "footnotesize",
                 "small", "normalsize", "large", "Large", "LARGE", "huge", "Huge", "nonumber", "notag", "protect",
                 "smallskip", "medskip", "bigskip", "noindent", "limits", "nolimits", "mit", "null", "strut", "hline",
                 "-", "/")
)  # fmt: skip

ACCENTS = {  # combining characters
    "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303", "bar": "\u0304",
    "overline": "\u0305", "breve": "\u0306", "dot": "\u0307", "ddot": "\u0308", "dddot": "\u20db",
    "mathring": "\u030a", "check": "\u030c", "acute": "\u0301", "grave": "\u0300", "vec": "\u20d7",
    "overrightarrow": "\u20d7", "overleftarrow": "\u20d6", "overleftrightarrow": "\u20e1", "underline": "\u0332",
    "overbrace": "⏞", "underbrace": "⏟", "cancel": "\u0338",
}  # fmt: skip
UNDER = frozenset({"underline", "underbrace"})
FONT_COMMANDS: dict[str, Font] = {
    "mathrm": "roman", "textrm": "roman", "textup": "roman", "mathbf": "bold", "textbf": "bold", "boldsymbol": "bold",
    "mathcal": "script", "mathscr": "script", "mathbb": "blackboard", "mathfrak": "fraktur", "mathsf": "sans",
    "textsf": "sans", "mathtt": "typewriter", "texttt": "typewriter", "mathit": "italic", "mathnormal": "italic",
    "textit": "italic", "emph": "italic", "textsc": "roman",
}  # fmt: skip
FONT_SWITCHES: dict[str, Font] = {
    "\\cal": "script", "\\bf": "bold", "\\boldmath": "bold", "\\rm": "roman", "\\it": "italic", "\\sl": "italic",
    "\\sf": "sans", "\\tt": "typewriter",
}  # fmt: skip

_FIRST = {  # first capital, small letter and digit of each mathematical alphabet
    "bold": (0x1D400, 0x1D41A, 0x1D7CE),
    "script": (0x1D49C, 0x1D4B6, None),
    "blackboard": (0x1D538, 0x1D552, 0x1D7D8),
    "fraktur": (0x1D504, 0x1D51E, None),
    "sans": (0x1D5A0, 0x1D5BA, 0x1D7E2),
    "typewriter": (0x1D670, 0x1D68A, 0x1D7F6),
}
_EXCEPTIONS = {
    "script": dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    "blackboard": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
    "fraktur": dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True)),
}
_BOLD_GREEK = dict(
    zip("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ", range(0x1D6A8, 0x1D6E2), strict=True)
)


def in_font(character: str, font: Font) -> str:
    """Return a letter or digit in a mathematical alphabet of Unicode, or unchanged where there is none."""
    if font in _EXCEPTIONS and character in _EXCEPTIONS[font]:
        return _EXCEPTIONS[font][character]
    if font == "bold" and character in _BOLD_GREEK:
        return chr(_BOLD_GREEK[character])
    if font not in _FIRST or not character.isascii():
        return character
    capital, small, digit = _FIRST[font]
    for first, start in (("A", capital), ("a", small), ("0", digit)):
        distance = ord(character) - ord(first)
        if start is not None and 0 <= distance < (10 if first == "0" else 26):
            return chr(start + distance)
    return character
