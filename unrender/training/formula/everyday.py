"""Formulas as people write them at school, at university and at work: made up by rule, without end.

arXiv is rich in long formulas and poor in what people photograph: single digits, roots with an index, cases with words,
matrices with numbers, units, reactions, several lines below one another. Every function takes its random generator.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from unrender.tokens import LatexTokenizer
from unrender.training.formula.expressions import (
    COMMON,
    FACTORS,
    LATIN,
    SIGNS,
    Rng,
    atom,
    cases,
    letter,
    matrix,
    number,
    pick,
    pick_rule,
    terms,
)
from unrender.training.formula.texts import Formula, settle

_LINE_TOKENS = (4, 28)
_NOT_IN_LINES = frozenset({"\\begin{array}", "\\\\", "\\not"})

_RELATIONS = """= = = = = = < > \\leq \\geq \\neq \\approx \\equiv \\sim \\simeq \\cong \\propto \\ll \\gg \\in \\notin
    \\subset \\subseteq \\supset \\rightarrow \\Rightarrow \\Leftrightarrow \\iff \\implies \\mapsto \\leftarrow \\perp
    \\parallel \\mid""".split()
_UNITS = """m s kg km cm mm m/s km/h N J W Hz V A Pa mol K g L ml kJ MeV eV nm kW rad min h Ohm
    mol/L""".split()
_WORDS = """if otherwise and or for all when where such that is even odd else with for some const. max min in out
    total rate area volume mass force energy time speed distance height width cost price profit error loss true false
    day year accuracy precision recall signal noise input output mean variance""".split()
_ALIGNED_AT = frozenset("= < > \\leq \\geq \\approx \\equiv \\sim \\le \\ge".split())
_ARROWS = """\\rightarrow \\rightleftharpoons \\longrightarrow \\leftrightharpoons
    \\xrightarrow{\\Delta}""".split()
_DOMAINS = "X Y A B \\mathbb{R} [0,1] \\mathbb{R}^{n} \\mathbb{C}".split()
_ELEMENTS = "H O C N Na Cl Ca Fe Cu Mg Al S P K Zn Ag Br I Si Pb He Li F".split()


def make_up(
    count: int, tokenizer: LatexTokenizer, make: Callable[[Rng], str] | None = None, *, seed: int = 0
) -> Iterator[Formula]:
    """Make up formulas of every kind, or by one rule, with the labels they are trained with."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        text = (make or make_any)(rng)
        label = settle(text, tokenizer)
        if label is not None:
            yield Formula(label, 0, display=bool(rng.random() < 0.7), drawn=text)


def stack(count: int, formulas: Sequence[Formula], tokenizer: LatexTokenizer, *, seed: int = 0) -> Iterator[Formula]:
    """Set short formulas below one another, two to five at a time."""
    rng = np.random.default_rng([1, seed])
    short = [formula for formula in formulas if _is_line(formula.text.split())]
    for _ in range(count):
        lines = [short[int(index)] for index in rng.integers(len(short), size=int(rng.choice([2, 2, 2, 3, 3, 4, 5])))]
        text = make_lines(rng, [line.text for line in lines])
        label = settle(text.replace("{} [", "["), tokenizer)
        if label is not None:
            yield Formula(label, lines[0].paper, display=True, drawn=text)


def make_any(rng: Rng) -> str:
    """Make up one formula."""
    kinds = list(_KINDS)
    weights = np.array([_KINDS[kind] for kind in kinds])
    return kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))](rng)


def make_lines(rng: Rng, formulas: Sequence[str]) -> str:
    """Set formulas below one another, as a derivation, a list, a system or centred lines."""
    formulas = [f"{{}} {line}" if line.startswith("[") else line for line in formulas]  # TeX takes [ for a distance
    kind = rng.random()
    if kind < 0.35:
        return "\\begin{aligned} " + " \\\\ ".join(_aligned(line) for line in formulas) + " \\end{aligned}"
    if kind < 0.5:
        return "\\begin{gathered} " + " \\\\ ".join(formulas) + " \\end{gathered}"
    if kind < 0.65:
        return "\\left\\{ \\begin{array}{l} " + " \\\\ ".join(formulas) + " \\end{array} \\right."
    if kind < 0.75:
        signs = "abcdefgh" if rng.random() < 0.5 else "12345678"
        numbered = [f"( {sign} ) ~ {line}" for sign, line in zip(signs, formulas, strict=False)]
        return "\\begin{array}{l} " + " \\\\ ".join(numbered) + " \\end{array}"
    return "\\begin{array}{l} " + " \\\\ ".join(formulas) + " \\end{array}"


def _is_line(tokens: Sequence[str]) -> bool:
    return _LINE_TOKENS[0] <= len(tokens) <= _LINE_TOKENS[1] and not _NOT_IN_LINES & set(tokens)


def _aligned(line: str) -> str:
    """Put the & before the first relation outside braces."""
    depth = 0
    for index, piece in enumerate(pieces := line.split(" ")):
        depth += (piece == "{") - (piece == "}") + _opens(piece) - _closes(piece)
        if depth == 0 and index and piece in _ALIGNED_AT:
            return " ".join([*pieces[:index], "&", *pieces[index:]])
    return line


def _opens(piece: str) -> bool:
    return piece.startswith(("\\left", "\\begin")) and not piece.endswith("arrow")


def _closes(piece: str) -> bool:
    return piece.startswith(("\\right", "\\end")) and not piece.endswith(("arrow", "harpoons", "harpoonup"))


def _single(rng: Rng) -> str:
    kind = rng.random()
    if kind < 0.4:
        return str(int(rng.integers(0, 10)))
    return (
        letter(rng)
        if kind < 0.8
        else pick(rng, [*_RELATIONS, *SIGNS, *LATIN, "\\infty", "\\emptyset", "\\forall", "\\exists", "\\int", "\\sum"])
    )


def _short(rng: Rng) -> str:
    return terms(rng, 0, 3) if rng.random() < 0.4 else f"{atom(rng)} {pick(rng, _RELATIONS)} {terms(rng, 0, 2)}"


def _equation(rng: Rng) -> str:
    depth = int(rng.integers(1, 3))
    left = (
        letter(rng)
        if rng.random() < 0.3
        else f"{letter(rng)}({letter(rng)})"
        if rng.random() < 0.35
        else terms(rng, depth, 2)
    )
    right = " ".join(f"{pick(rng, _RELATIONS)} {terms(rng, depth, 2)}" for _ in range(1 if rng.random() < 0.8 else 2))
    return f"{left} {right}"


def _expression(rng: Rng) -> str:
    return pick_rule(rng, FACTORS)(rng, int(rng.integers(0, 3)))


def _arithmetic(rng: Rng) -> str:
    parts = [number(rng)]
    for _ in range(int(rng.integers(1, 4))):
        parts += [pick(rng, ["+", "-", "\\times", "\\div", "\\cdot", "/"]), number(rng)]
    return (
        " ".join(parts) + (f" = {number(rng)}" if rng.random() < 0.7 else "") + ("\\%" if rng.random() < 0.06 else "")
    )


def matrices(rng: Rng) -> str:
    kind = rng.random()
    first = matrix(rng, 1)
    return (
        first
        if kind < 0.3
        else f"{letter(rng)} = {first}"
        if kind < 0.7
        else f"{first} {matrix(rng, 1)} = {matrix(rng, 1)}"
    )


def _definition(rng: Rng) -> str:
    return f"{letter(rng)}({letter(rng)}) = {cases(rng, 1)}" if rng.random() < 0.8 else cases(rng, 1)


def _logic(rng: Rng) -> str:
    one, two = pick(rng, COMMON), letter(rng)
    sets = pick(rng, ["\\mathbb{R}", "\\mathbb{N}", "\\mathbb{Z}", "A", "X", "\\Omega"])
    return pick(
        rng,
        [
            f"\\forall {one} \\in {sets}, \\exists {two}: {_equation(rng)}",
            f"\\forall \\varepsilon > 0 ~ \\exists \\delta > 0: |{one} - a| < \\delta",
            f"\\{{ {one} \\in {sets} \\mid {_short(rng)} \\}}",
            f"P({pick(rng, LATIN)} \\mid {pick(rng, LATIN)}) = {_expression(rng)}",
            f"\\neg ({two} \\wedge {one}) \\Leftrightarrow \\neg {letter(rng)} \\vee \\neg {letter(rng)}",
            f"{pick(rng, LATIN)} \\cap {pick(rng, LATIN)} = \\emptyset",
            f"\\nexists {one} \\in {sets}: {_short(rng)}",
            f"f: {pick(rng, _DOMAINS)} \\to {pick(rng, _DOMAINS)}",
            f"\\angle ABC = {int(rng.integers(1, 360))}^{{\\circ}}",
            f"a \\equiv b ~ (\\operatorname{{mod}} ~ {atom(rng)})",
        ],
    )


def _quantity(rng: Rng) -> str:
    unit = f"\\text{{{'~' if rng.random() < 0.6 else ''}{pick(rng, _UNITS).replace('^2', '').replace('^3', '')}}}"
    power = f" \\times 10^{{{int(rng.integers(-30, 31))}}}" if rng.random() < 0.35 else ""
    space = " \\," if rng.random() < 0.4 else ""
    return f"{atom(rng)} = {number(rng)}{power}{space} {unit}" + ("^{2}" if rng.random() < 0.2 else "")


def _words(rng: Rng) -> str:
    def word() -> str:
        return "\\text{" + "~".join(pick(rng, _WORDS) for _ in range(int(rng.integers(1, 3)))) + "}"

    kind = rng.random()
    if kind < 0.4:
        return f"{word()} = \\frac{{{word()}}}{{{word()}}}"
    return (
        f"{_equation(rng)} ~ {word()} ~ {_short(rng)}"
        if kind < 0.8
        else f"{word()} {pick(rng, _RELATIONS)} {terms(rng, 1, 2)}"
    )


def _reaction(rng: Rng) -> str:
    def molecule() -> str:
        atoms = "".join(
            pick(rng, _ELEMENTS) + (f"_{{{int(rng.integers(2, 7))}}}" if rng.random() < 0.5 else "")
            for _ in range(int(rng.integers(1, 4)))
        )
        charge = f"^{{{pick(rng, ['+', '-', '2+', '2-', '3+'])}}}" if rng.random() < 0.15 else ""
        return f"{pick(rng, ['', '', '2', '3', '4'])}\\mathrm{{{atoms}{charge}}}"

    arrow = pick(rng, _ARROWS)
    sides = [" + ".join(molecule() for _ in range(int(rng.integers(1, 4)))) for _ in range(2)]
    return f"{sides[0]} {arrow} {sides[1]}"


_KINDS: dict[Callable[[Rng], str], float] = {
    _single: 0.06,
    _short: 0.16,
    _equation: 0.28,
    _expression: 0.14,
    _arithmetic: 0.06,
    matrices: 0.09,
    _definition: 0.05,
    _logic: 0.05,
    _quantity: 0.04,
    _words: 0.04,
    _reaction: 0.03,
}
