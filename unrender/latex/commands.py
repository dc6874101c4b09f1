"""What the parser knows about LaTeX commands: arity, environments, operator names, spellings."""

SPACES = frozenset({"\\,", "\\;", "\\:", "\\!", "\\>", "\\", "~", "\\quad", "\\qquad", "\\enspace", "\\thinspace"})

# Commands that take this many arguments in math mode and are written with them.
ARITY = {
    **dict.fromkeys(["\\frac", "\\binom", "\\stackrel", "\\overset", "\\underset"], 2),
    **dict.fromkeys(
        """\\sqrt \\acute \\bar \\breve \\check \\ddot \\dddot \\dot \\grave \\hat \\mathring \\tilde \\vec \\widehat
        \\widetilde \\overline \\underline \\overbrace \\underbrace \\overrightarrow \\overleftarrow
        \\overleftrightarrow \\mathrm \\mathbf \\mathcal \\mathbb \\mathfrak \\mathscr \\mathsf \\mathtt \\mathit
        \\mathnormal \\boldsymbol \\phantom \\hphantom \\vphantom \\smash \\mathop \\mathbin \\mathrel \\mathord
        \\mathopen \\mathclose \\mathpunct \\mathinner \\boxed \\fbox \\textrm \\textup \\textit \\textbf \\textsf
        \\texttt \\textsc \\emph \\lefteqn \\rlap \\llap \\operatorname \\operatorname* \\cancel
        \\bcancel \\xcancel \\pmod \\xrightarrow \\xleftarrow \\xleftrightarrow \\xRightarrow""".split(),
        1,
    ),
}
# Accents, and scripts, always carry braces; other arguments keep the author's habit unless unified.
ALWAYS_BRACED = frozenset(
    "\\acute \\bar \\breve \\check \\ddot \\dddot \\dot \\grave \\hat \\mathring \\tilde \\vec".split()
)
ROWS = frozenset({"\\substack"})  # rows in one pair of braces
OPTIONAL_ARGUMENT = frozenset({"\\sqrt", "\\xrightarrow", "\\xleftarrow", "\\xleftrightarrow", "\\xRightarrow"})
TEXT_AS_ROMAN = frozenset({"\\text", "\\mbox", "\\hbox", "\\textnormal"})
TEXT = TEXT_AS_ROMAN | frozenset("\\textrm \\textup \\textit \\textbf \\textsf \\texttt \\textsc \\emph \\fbox".split())
LENGTH_ARGUMENT = frozenset({"\\hspace", "\\vspace"})
LONGEST_LENGTH = 24  # tokens
SKIPS = frozenset({"\\hskip", "\\kern", "\\mskip", "\\mkern"})  # followed by a bare length
SIZED = frozenset("\\big \\Big \\bigg \\Bigg \\bigl \\Bigl \\biggl \\Biggl \\bigr \\Bigr \\biggr \\Biggr \\bigm \\Bigm "
                  "\\biggm \\Biggm".split())  # fmt: skip
INFIX = {"\\over": "\\frac", "\\choose": "\\binom"}
DELIMITERS = frozenset(
    """( ) [ ] / | . < > \\{ \\} \\| \\langle \\rangle \\lbrace \\rbrace \\lbrack \\rbrack \\lfloor \\rfloor \\lceil
    \\rceil \\vert \\Vert \\lvert \\rvert \\lVert \\rVert \\uparrow \\downarrow \\updownarrow \\Uparrow \\Downarrow
    \\Updownarrow \\backslash \\lgroup \\rgroup \\lmoustache \\rmoustache \\ulcorner \\urcorner""".split()
)
DROPPED = frozenset({"\\limits", "\\nolimits", "\\relax", "\\allowbreak", "\\nobreak", "\\displaylimits", "\\/", "\\@"})
DROPPED_WITH_ARGUMENT = frozenset({"\\label", "\\tag", "\\tag*", "\\color", "\\ref", "\\cite"})

OPERATORS = frozenset(
    """arcsin arccos arctan arctg arcctg arg ch cos cosec cosh cot cotg coth csc ctg cth deg dim exp hom ker lg ln log
    sec sin sinh sh tan tanh tg th""".split()
)
LIMIT_OPERATORS = frozenset("det gcd inf lim liminf limsup max min Pr sup".split())

# Environments written as an array between these delimiters.
MATRICES = {
    "matrix": None, "smallmatrix": None, "pmatrix": ("(", ")"), "bmatrix": ("[", "]"), "Bmatrix": ("\\{", "\\}"),
    "vmatrix": ("|", "|"), "Vmatrix": ("\\|", "\\|"), "cases": ("\\{", "."), "dcases": ("\\{", "."),
    "rcases": (".", "\\}"), "aligned": None, "split": None, "gathered": None, "align": None, "align*": None,
    "gather": None, "gather*": None, "multline": None, "multline*": None, "eqnarray": None, "eqnarray*": None,
}  # fmt: skip
UNWRAPPED = frozenset({"equation", "equation*", "displaymath", "math"})  # mean nothing but what stands in them
COLUMNS = {
    **dict.fromkeys(["cases", "dcases", "rcases"], "ll"),
    **dict.fromkeys(["aligned", "split", "align", "align*"], "rl"),
    **dict.fromkeys(["eqnarray", "eqnarray*"], "rcl"),
}

# One spelling for what looks the same, most frequent first in the Im2Latex labels.
SYNONYMS = {
    "\\ne": "\\neq", "\\le": "\\leq", "\\ge": "\\geq", "\\gets": "\\leftarrow", "\\to": "\\rightarrow",
    "\\owns": "\\ni", "\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]", "\\ast": "*",
    "\\dag": "\\dagger", "\\vert": "|", "\\lvert": "|", "\\rvert": "|", "\\Vert": "\\|", "\\lVert": "\\|",
    "\\rVert": "\\|", "\\land": "\\wedge", "\\lor": "\\vee", "\\lnot": "\\neg", "\\dots": "\\ldots",
    "\\dotsc": "\\ldots", "\\dotso": "\\ldots", "\\dotsb": "\\cdots", "\\dotsm": "\\cdots", "\\dotsi": "\\cdots",
    "\\colon": ":", "\\bot": "\\perp", "\\thinspace": "\\,", "\\>": "\\:", "\\iff": "\\Longleftrightarrow",
    "\\implies": "\\Longrightarrow", "\\impliedby": "\\Longleftarrow", "\\hslash": "\\hbar", "\\doublecup": "\\Cup",
    "\\slash": "/", "\\lt": "<", "\\gt": ">", "\\textrm": "\\mathrm", "\\textup": "\\mathrm", "\\textit": "\\mathit",
    "\\textbf": "\\mathbf", "\\textsf": "\\mathsf", "\\texttt": "\\mathtt", "\\emph": "\\mathit",
    "\\mathnormal": "\\mathit",
}  # fmt: skip
# Before parsing, these are nothing but other names.
ALIASES = {
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\dbinom": "\\binom", "\\tbinom": "\\binom",
    "\\bm": "\\boldsymbol", "\\pmb": "\\boldsymbol", "\\sp": "^", "\\sb": "_", "\\lq": "`", "\\rq": "'",
    "\\Tilde": "\\tilde", "\\Hat": "\\hat", "\\Bar": "\\bar", "\\Vec": "\\vec", "\\Dot": "\\dot", "\\Ddot": "\\ddot",
}  # fmt: skip
# Font switches that stand for the command when unified: { \cal X } is the label's usual form.
SWITCH_OF = {"\\mathcal": "\\cal", "\\mathbf": "\\bf"}
WRAPPERS = frozenset({"\\mathop", "\\mathbin", "\\mathrel", "\\mathord", "\\mathopen", "\\mathclose", "\\mathpunct",
                      "\\mathinner"})  # fmt: skip
# What leaves no ink of its own.
SILENT = frozenset(
    r"""
    { } ^ _ & ~ \\ \! \, \: \; \ \quad \qquad \enspace \begin{array} \end{array} \displaystyle \textstyle
    \scriptstyle \scriptscriptstyle \hline \vline \nonumber \limits \nolimits \hspace \vspace \kern \raise
    \raisebox \hfill \phantom \hphantom \vphantom \smash \llap \fbox \left. \right. \mathbb \mathbf \mathcal
    \mathfrak \mathit \mathord \mathrel \mathrm \mathscr \mathsf \mathtt \bf \it \rm \cal \mit \sf \sl \tt \tiny
    \small \large \Large \LARGE \scriptsize \footnotesize \boldmath \boldsymbol \operatorname \operatorname*
    \textit \textnormal \textrm \textsc \textup \emph \stackrel \overset \underset \binom \atop \buildrel \sb
    \sp \d
    """.split()
)
