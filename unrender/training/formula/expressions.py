"""Pieces of made-up formulas: letters, numbers, fractions, roots, sums, matrices, cases, nested to a depth."""

from collections.abc import Callable, Sequence

import numpy as np

Rng = np.random.Generator

LATIN = "x y z a b c d k m n p q r s t u v w A B C D E F G H K L M N P Q R S T U V W X Y Z f g h i j l e o".split()
COMMON = "x y z a b c n t k m r f g h".split()
_GREEK = """\\alpha \\beta \\gamma \\delta \\epsilon \\varepsilon \\zeta \\eta \\theta \\kappa \\lambda \\mu \\nu \\xi
    \\pi \\rho \\sigma \\tau \\phi \\varphi \\chi \\psi \\omega \\Gamma \\Delta \\Theta \\Lambda \\Sigma \\Phi \\Psi
    \\Omega""".split()
SIGNS = """+ + + + - - - - \\cdot \\times \\pm \\mp \\div / \\cup \\cap \\setminus \\oplus \\otimes \\circ \\wedge
    \\vee *""".split()
_FUNCTIONS = """\\sin \\cos \\tan \\log \\ln \\exp \\arctan \\arcsin \\sinh \\cosh \\tanh \\cot \\sec \\arg \\det
    \\dim \\ker""".split()
_ACCENTS = "\\hat \\bar \\tilde \\vec \\dot \\ddot \\overline \\widehat \\widetilde \\overrightarrow".split()
_ALPHABETS = """\\mathbb{R} \\mathbb{N} \\mathbb{Z} \\mathbb{Q} \\mathbb{C} \\mathcal{L} \\mathcal{F} \\mathcal{O}
    \\mathbf{x} \\mathbf{v} \\mathbf{A} \\mathbf{F} \\boldsymbol{\\beta} \\mathfrak{g} \\mathcal{H} \\mathbb{E}
    \\mathbb{P}""".split()
_BRACKETS = (("(", ")"), ("[", "]"), ("|", "|"), ("\\lfloor", "\\rfloor"), ("\\lceil", "\\rceil"),
             ("\\langle", "\\rangle"), ("\\|", "\\|"), ("\\{", "\\}"))  # fmt: skip
_BRACKET_SHARES = (0.4, 0.12, 0.12, 0.09, 0.09, 0.06, 0.06, 0.06)
_GENERAL_MATRIX = "a_{11} & \\cdots & a_{1n} \\\\ \\vdots & \\ddots & \\vdots \\\\ a_{m1} & \\cdots & a_{mn}"
_ENDS = "n N \\infty m 10 k n-1".split()
_DUMMIES = "x t s y \\theta r A V".split()
_CONDITIONS = "< > \\geq \\leq = \\neq \\in".split()


def pick(rng: Rng, items: Sequence[str]) -> str:
    return items[int(rng.integers(len(items)))]


def number(rng: Rng) -> str:
    kind = rng.random()
    if kind < 0.55:
        return str(int(rng.integers(0, 10)))
    if kind < 0.75:
        return str(int(rng.integers(10, 100)))
    if kind < 0.82:
        return str(int(rng.integers(100, 10_000)))
    if kind < 0.87:
        return str(int(rng.integers(1, 10))) + pick(rng, ["0", "0", "1", "3", "9"]) * int(rng.integers(2, 7))
    return f"{rng.uniform(0, 100):.{int(rng.integers(1, 4))}f}"


def letter(rng: Rng) -> str:
    kind = rng.random()
    return pick(rng, COMMON if kind < 0.5 else LATIN if kind < 0.78 else _GREEK if kind < 0.95 else _ALPHABETS)


def atom(rng: Rng) -> str:
    kind = rng.random()
    if kind < 0.5:
        return letter(rng)
    if kind < 0.72:
        return number(rng)
    if kind < 0.8:
        return f"{letter(rng)}_{{{_index(rng)}}}"
    if kind < 0.88:
        return f"{letter(rng)}^{{{_index(rng)}}}"
    if kind < 0.92:
        return f"{pick(rng, _ACCENTS)}{{{letter(rng)}}}"
    if kind < 0.95:
        return pick(
            rng, ["\\infty", "\\emptyset", "\\partial", "\\nabla", "\\ell", "\\hbar", "\\pi", "e", "i", "\\varnothing"]
        )
    return f"{letter(rng)}'" if kind < 0.98 else f"{number(rng)}{letter(rng)}"


def _index(rng: Rng) -> str:
    kind = rng.random()
    if kind < 0.4:
        return str(int(rng.integers(0, 10)))
    if kind < 0.7:
        return pick(rng, [*COMMON, "i", "j", "k", "n"])
    if kind < 0.85:
        return f"{pick(rng, ['n', 'i', 'k', 'm', 'j'])} {pick(rng, ['+', '-'])} {int(rng.integers(1, 4))}"
    if kind < 0.93:
        return f"{pick(rng, ['i', 'n', 'a', 'x'])}{pick(rng, ['j', 'k', 'm', 'b'])}"
    return f"\\text{{{pick(rng, ['max', 'min', 'in', 'out', 'eff', 'tot', 'ref', 'kin'])}}}"


def _product(rng: Rng, depth: int) -> str:
    return " ".join(_factor(rng, depth) for _ in range(int(rng.integers(1, 3))))


def terms(rng: Rng, depth: int, most: int = 3) -> str:
    parts = [_product(rng, depth)]
    for _ in range(int(rng.integers(0, most))):
        parts += [pick(rng, SIGNS), _product(rng, depth)]
    return ("-" if rng.random() < 0.08 else "") + " ".join(parts)


def _factor(rng: Rng, depth: int) -> str:
    if depth <= 0 or rng.random() < 0.45:
        return atom(rng)
    return pick_rule(rng, FACTORS)(rng, depth - 1)


def pick_rule(rng: Rng, rules: Sequence[Callable[[Rng, int], str]]) -> Callable[[Rng, int], str]:
    return rules[int(rng.integers(len(rules)))]


def _fraction(rng: Rng, depth: int) -> str:
    return f"\\frac{{{terms(rng, depth, 2)}}}{{{terms(rng, depth, 2)}}}"


def _root(rng: Rng, depth: int) -> str:
    degree = f"[{pick(rng, ['3', '4', 'n', '5', 'k', 'm'])}]" if rng.random() < 0.4 else ""
    return f"\\sqrt{degree}{{{terms(rng, depth, 2)}}}"


def _power(rng: Rng, depth: int) -> str:
    base = letter(rng) if rng.random() < 0.6 else f"({terms(rng, depth, 2)})"
    script = _index(rng) if rng.random() < 0.6 else terms(rng, depth - 1, 2)
    return f"{base}^{{{script}}}" if rng.random() < 0.8 else f"{base}_{{{_index(rng)}}}^{{{script}}}"


def _function(rng: Rng, depth: int) -> str:
    name = pick(rng, _FUNCTIONS)
    power = f"^{{{int(rng.integers(2, 4))}}}" if rng.random() < 0.2 else ""
    argument = atom(rng) if rng.random() < 0.5 else f"({terms(rng, depth, 2)})"
    return f"{name}{power} {argument}"


def _brackets(rng: Rng, depth: int) -> str:
    inner = terms(rng, depth)
    left, right = _BRACKETS[int(rng.choice(len(_BRACKETS), p=_BRACKET_SHARES))]
    if rng.random() < 0.5:
        return f"\\left{left} {inner} \\right{right}"
    return f"{left} {inner} {right}"


def _big(rng: Rng, depth: int) -> str:
    sign = pick(rng, ["\\sum", "\\sum", "\\prod", "\\bigcup", "\\bigcap", "\\bigoplus", "\\coprod"])
    index = pick(rng, ["i", "j", "k", "n", "m"])
    kind = rng.random()
    if kind < 0.7:
        bounds = f"_{{{index}={int(rng.integers(0, 3))}}}^{{{pick(rng, _ENDS)}}}"
    else:
        bounds = f"_{{{index}}}" if kind < 0.8 else f"_{{{index} \\in {letter(rng)}}}"
    return f"{sign}{bounds} {_product(rng, depth)}"


def _integral(rng: Rng, depth: int) -> str:
    sign = pick(rng, ["\\int", "\\int", "\\int", "\\iint", "\\oint", "\\iiint"])
    kind = rng.random()
    bounds = "" if kind < 0.25 else f"_{{{atom(rng)}}}^{{{atom(rng)}}}" if kind < 0.75 else f"_{{{letter(rng)}}}"
    space = "\\," if rng.random() < 0.5 else ""
    return f"{sign}{bounds} {terms(rng, depth, 2)} {space} d{pick(rng, _DUMMIES)}"


def _limit(rng: Rng, depth: int) -> str:
    name = pick(rng, ["\\lim", "\\lim", "\\max", "\\min", "\\sup", "\\inf"])
    target = pick(rng, ["0", "\\infty", "a", "1", "0^{+}", "-\\infty"])
    below = f"{letter(rng)} \\to {target}" if name == "\\lim" else f"{letter(rng)} \\in {letter(rng)}"
    return f"{name}_{{{below}}} {_product(rng, depth)}"


def _derivative(rng: Rng, depth: int) -> str:
    sign = pick(rng, ["d", "\\partial"])
    order = pick(rng, ["", "", "^{2}", "^{n}"])
    return f"\\frac{{{sign}{order} {letter(rng)}}}{{{sign} {letter(rng)}{order}}}"


def _binomial(rng: Rng, depth: int) -> str:
    if rng.random() < 0.6:
        return f"\\binom{{{atom(rng)}}}{{{atom(rng)}}}"
    return f"{pick(rng, ['n', 'k', '5', '(n-1)', 'm'])}!"


def _marked(rng: Rng, depth: int) -> str:
    name = pick(rng, ["\\overline", "\\underline", "\\widehat", "\\overbrace", "\\underbrace", "\\boxed", "\\cancel"])
    label = f"{'^' if 'over' in name else '_'}{{{_index(rng)}}}" if "brace" in name else ""
    return f"{name}{{{terms(rng, depth, 2)}}}{label}"


def matrix(rng: Rng, depth: int) -> str:
    name = pick(rng, ["pmatrix", "bmatrix", "vmatrix", "pmatrix", "bmatrix", "matrix"])
    most = 5 if rng.random() < 0.6 else 7
    rows, columns = int(rng.integers(1, most)), int(rng.integers(1, most))
    kind = rng.random()
    if kind < 0.12:
        body = _GENERAL_MATRIX.replace("a", pick(rng, COMMON))
    else:
        cell = _one_of_few(rng) if kind < 0.45 else _entry if kind < 0.75 else atom
        cells = [[cell(rng) for _ in range(columns)] for _ in range(rows)]
        if kind < 0.25:
            cells = [
                [value if row == column else "0" for column, value in enumerate(line)] for row, line in enumerate(cells)
            ]
        body = " \\\\ ".join(" & ".join(line) for line in cells)
    return f"\\begin{{{name}}} {body} \\end{{{name}}}"


def _one_of_few(rng: Rng) -> Callable[[Rng], str]:
    """Return what writes the same entries again and again: only their places tell them apart."""
    often = pick(rng, ["0", "1", _entry(rng)])
    seldom = pick(rng, ["1", "0", "-1", _entry(rng), letter(rng)])
    return lambda rng: often if rng.random() < 0.65 else seldom


def _entry(rng: Rng) -> str:
    return ("-" if rng.random() < 0.2 else "") + number(rng)


def cases(rng: Rng, depth: int) -> str:
    lines = []
    for _ in range(int(rng.integers(2, 4))):
        word = pick(rng, ["if~", "for~", "when~", ""])
        condition = f"\\text{{{word}}}{atom(rng)} {pick(rng, _CONDITIONS)} {atom(rng)}"
        value = terms(rng, depth, 2)
        lines.append(f"{value}, & {condition}" if rng.random() < 0.85 else f"{value} & \\text{{otherwise}}")
    return "\\begin{cases} " + " \\\\ ".join(lines) + " \\end{cases}"


FACTORS = (
    _fraction, _fraction, _root, _power, _power, _function, _brackets, _big, _integral, _limit, _derivative, _binomial,
    _marked,
)  # fmt: skip
