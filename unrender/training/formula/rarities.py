"""What papers have seldom and people photograph often: braces below sums, floors, prescripts, towers, single signs.

A reader that meets such a sign a hundred times among a million formulas takes it for its neighbour: a brace for a
fraction's bar, a ceiling for a bracket, a double integral for a triple one. So there is a set of nothing else.
"""

from collections.abc import Callable

from unrender.training.formula.expressions import COMMON, LATIN, Rng, atom, letter, matrix, number, pick, terms

_ELEMENTS = "C H O N U Th Pu Ra He Cs I K Na Co Sr Fe".split()
_SINGLE = """+ - = < > \\leq \\geq \\neq \\approx \\equiv \\in \\notin \\subset \\subseteq \\cup \\cap \\forall \\exists
    \\int \\iint \\oint \\sum \\prod \\infty \\partial \\nabla \\emptyset \\angle \\pm \\times \\div \\cdot \\rightarrow
    \\Rightarrow \\leftrightarrow \\rightleftharpoons \\hbar \\ell \\propto \\perp \\parallel \\wedge \\vee \\neg
    \\oplus \\otimes \\sqrt{x} \\% ! ( ) [ ]""".split()
_PRODUCTS = "\\cdot \\times".split()
_WORDS = "times terms factors copies zeros ones steps".split()
_SURFACES = [*"S D R V C A \\Omega \\Sigma \\gamma".split(), "\\partial V", "\\partial \\Omega"]


def make_rare(rng: Rng) -> str:
    """Make up one formula around a rare sign."""
    return _KINDS[int(rng.integers(len(_KINDS)))](rng)


def _side(rng: Rng) -> str:
    """Return the left side of an equation, or nothing."""
    kind = rng.random()
    return "" if kind < 0.35 else f"{letter(rng)} = " if kind < 0.75 else f"{letter(rng)}({pick(rng, COMMON)}) = "


def _repeated(rng: Rng) -> str:
    """Return the same thing again and again, with dots."""
    one = pick(rng, [number(rng), letter(rng), f"{letter(rng)}_{{1}}"])
    sign, dots = pick(rng, ["+", "+", "\\cdot", "\\times", ""]), "\\cdots"
    if sign == "" and rng.random() < 0.5:
        dots = "\\ldots"
    return f" {sign} ".join([one] * int(rng.integers(1, 4)) + [dots, one])


def _brace(rng: Rng) -> str:
    name, script = (("\\underbrace", "_"), ("\\overbrace", "^"))[int(rng.random() < 0.35)]
    kind = rng.random()
    inner = _repeated(rng) if kind < 0.45 else terms(rng, 1, 3)
    count = pick(rng, [*COMMON, number(rng), f"{pick(rng, COMMON)} - 1"])
    label = count if rng.random() < 0.55 else f"{count} \\text{{~{pick(rng, _WORDS)}}}"
    if rng.random() < 0.2:
        label = f"\\text{{{pick(rng, ['bias', 'noise', 'signal', 'error', 'constant', 'kinetic'])}}}"
    more = f" {pick(rng, ['+', '-'])} {terms(rng, 0, 2)}" if rng.random() < 0.3 else ""
    return f"{_side(rng)}{name}{{{inner}}}{script}{{{label}}}{more}"


def _floor(rng: Rng) -> str:
    left, right = pick(rng, ["\\lfloor \\rfloor", "\\lceil \\rceil"]).split()
    kind = rng.random()
    inner = (
        f"\\frac{{{atom(rng)}}}{{{atom(rng)}}}"
        if kind < 0.35
        else f"\\log_{{{number(rng)}}} {pick(rng, COMMON)}"
        if kind < 0.5
        else terms(rng, 0, 2)
    )
    grown = "frac" in inner or rng.random() < 0.2
    whole = f"\\left{left} {inner} \\right{right}" if grown else f"{left} {inner} {right}"
    ends = ["", "", "", " + 1", " - 1", f" = {number(rng)}", f" \\leq {atom(rng)}"]
    return _side(rng) + whole + pick(rng, ends)


def _many_integrals(rng: Rng) -> str:
    sign = pick(rng, ["\\iint", "\\iint", "\\iiint", "\\oint", "\\oint", "\\int \\int"])
    below = f"_{{{pick(rng, _SURFACES)}}}" if rng.random() < 0.8 else ""
    body = pick(
        rng,
        [
            f"{letter(rng)}({pick(rng, COMMON)}, {pick(rng, COMMON)})",
            f"{_vector(rng)} \\cdot d {_vector(rng)}",
            f"({terms(rng, 1, 2)})",
            terms(rng, 0, 2),
            f"\\nabla \\times {_vector(rng)} \\cdot d {_vector(rng)}",
        ],
    )
    space = pick(rng, ["\\,", "", "\\,"])
    ends = {"\\oint": ["", f"{space} d s", f"{space} d z"], "\\iiint": [f"{space} d V", "d x d y d z"]}
    end = pick(rng, ends.get(sign, [f"{space} d A", "d x \\, d y", f"{space} d S", "d u d v", f"{space} d \\sigma"]))
    value = f" = {atom(rng)}" if rng.random() < 0.4 else ""
    return f"{sign}{below} {body} {end if 'cdot d' not in body else ''}{value}"


def _vector(rng: Rng) -> str:
    name = pick(rng, ["\\vec", "\\vec", "\\mathbf", "\\mathbf", "\\hat", "\\overrightarrow", "\\bar"])
    return f"{name}{{{pick(rng, LATIN)}}}"


def _vectors(rng: Rng) -> str:
    operator = pick(rng, ["\\cdot", "\\times", "+", "-"])
    one, two, three = _vector(rng), _vector(rng), _vector(rng)
    return pick(
        rng,
        [
            f"{one} = {atom(rng)} ({two} {operator} {three})",
            f"{one} {operator} {two} = {atom(rng)}",
            f"{one} {operator} {two} = |{one}| |{two}| \\cos \\theta",
            f"{one} = {number(rng)} {two} {operator} {number(rng)} {three}",
            f"\\nabla {pick(rng, _PRODUCTS)} {one} = {terms(rng, 1, 2)}",
        ],
    )


def _segments(rng: Rng) -> str:
    name = pick(rng, ["\\overline", "\\overline", "\\overrightarrow", "\\widehat", "\\underline", "\\widetilde"])
    one, two = (f"{name}{{{pick(rng, LATIN)} {pick(rng, LATIN)}}}" for _ in range(2))
    between = pick(rng, ["\\parallel", "\\perp", "=", "\\cong", "\\cdot", "+"])
    return f"{one} {between} {two}"


def _prescript(rng: Rng) -> str:
    element = f"\\mathrm{{{pick(rng, _ELEMENTS)}}}"
    mass, charge = int(rng.integers(1, 260)), int(rng.integers(1, 100))
    kind = rng.random()
    if kind < 0.4:
        return f"{{}}^{{{mass}}}_{{{charge}}} {element}"
    if kind < 0.6:
        return f"{{}}^{{{mass}}} {element}"
    if kind < 0.8:
        other = f"\\mathrm{{{pick(rng, _ELEMENTS)}}}"
        more = pick(rng, ["{}^{4}_{2} \\mathrm{He}", "\\mathrm{e}^{-}", "\\gamma", "{}^{1}_{0} \\mathrm{n}"])
        return (
            f"{{}}^{{{mass}}}_{{{charge}}} {element} \\rightarrow {{}}^{{{mass - 4}}}_{{{charge - 2}}} {other} + {more}"
        )
    return f"{{}}_{{{pick(rng, COMMON)}}} {pick(rng, ['C', 'P', 'F'])}_{{{pick(rng, COMMON)}}} = {terms(rng, 1, 2)}"


def _prime(rng: Rng) -> str:
    name, argument = pick(rng, [*COMMON, "u", "y", "F"]), pick(rng, [*COMMON, "x_{n}", "x_{0}", "t"])
    mark = pick(rng, ["'", "'", "''"])
    whole = f"{name}{mark}({argument})"
    return pick(
        rng,
        [
            f"{whole} = {terms(rng, 1, 3)}",
            f"{name}_{{{pick(rng, COMMON)}}} - \\frac{{{name}({argument})}}{{{whole}}}",
            f"{name}{mark} {pick(rng, ['+', '-'])} {atom(rng)} {name} = {terms(rng, 0, 2)}",
            f"({name} {pick(rng, LATIN)})' = {name}' {pick(rng, LATIN)} + {terms(rng, 0, 1)}",
            f"\\int {whole} \\, d{pick(rng, COMMON)} = {name}({argument}) + C",
        ],
    )


def _tower(rng: Rng) -> str:
    base, middle, top = pick(rng, ["2", "e", letter(rng), number(rng)]), atom(rng), atom(rng)
    sign = pick(rng, ["", "", "-"])
    kind = rng.random()
    if kind < 0.4:
        tower = f"{base}^{{{sign} {pick(rng, [*COMMON, '2', '3'])}^{{{top}}}}}"
    elif kind < 0.6:
        tower = f"{base}^{{{sign} \\frac{{{middle}^{{2}}}}{{{top}}}}}"
    elif kind < 0.8:
        tower = f"{letter(rng)}_{{{pick(rng, COMMON)}_{{{top}}}}}"
    else:
        tower = f"{base}^{{{sign} ({terms(rng, 0, 2)})^{{2}} / {middle}}}"
    return f"{_side(rng)}{tower}" + (f" {pick(rng, ['+', '-'])} {atom(rng)}" if rng.random() < 0.5 else "")


def _physics(rng: Rng) -> str:
    state = pick(rng, ["\\psi", "\\Psi", "\\phi", "\\Phi"])
    unit = pick(rng, ["\\hbar", "\\hbar", "h"])
    operator, value = pick(rng, ["\\hat{H}", "H", "\\hat{p}"]), pick(rng, ["E", "\\lambda", unit])
    place, push = pick(rng, ["\\hat{x}, \\hat{p}", "x, p", "\\hat{a}, \\hat{b}"]), pick(rng, ["\\omega", "\\nu", "k"])
    return pick(
        rng,
        [
            f"{operator} {state} = {value} {state}",
            f"i {unit} \\frac{{\\partial {state}}}{{\\partial t}} = {terms(rng, 1, 2)} {state}",
            f"{letter(rng)} = {unit} {push}",
            f"\\frac{{{unit}^{{2}}}}{{2 m}} \\nabla^{{2}} {state}",
            f"\\langle {state} | {_vector(rng)} | \\phi \\rangle = {atom(rng)}",
            f"[{place}] = i {unit}",
        ],
    )


def _logic(rng: Rng) -> str:
    one, two = pick(rng, COMMON), pick(rng, COMMON)
    relation, order = pick(rng, ["<", "=", "\\geq", "\\neq"]), pick(rng, [">", "\\leq", "<"])
    return pick(
        rng,
        [
            f"\\forall {one} \\exists {two}: {terms(rng, 0, 2)} {relation} {atom(rng)}",
            f"\\forall {one} \\in {letter(rng)}, {one} {order} {atom(rng)}",
            f"\\exists {one} {relation} {atom(rng)}",
            f"{atom(rng)} \\notin {letter(rng)} \\Rightarrow {atom(rng)} \\in {letter(rng)}",
        ],
    )


def _expectation(rng: Rng) -> str:
    name = pick(rng, ["\\mathbb{E}", "\\mathbb{P}", "\\mathcal{L}", "\\mathcal{F}", "\\mathcal{N}", "\\mathbb{V}"])
    left, right = pick(rng, ["[ ]", "( )", "\\{ \\}"]).split()
    body = pick(rng, [letter(rng), f"{letter(rng)} \\mid {letter(rng)}", terms(rng, 0, 2), "\\mu, \\sigma^{2}"])
    return f"{name}{left} {body} {right} = {terms(rng, 1, 2)}"


def _long_sum(rng: Rng) -> str:
    name, count = pick(rng, COMMON), int(rng.integers(3, 6))
    places = range(1, count + 1)
    kind = rng.random()
    if kind < 0.35:
        first, step = int(rng.integers(0, 10)), int(rng.integers(1, 4))
        parts = [str(first + step * place) for place in range(int(rng.integers(5, 14)))]
        return pick(rng, [" + ", " + ", ", "]).join(parts) + (f" = {number(rng)}" if rng.random() < 0.5 else "")
    if kind < 0.7:
        squares = " + ".join(f"{name}_{{{place}}}^{{2}}" for place in places)
        pairs = [f"2 {name}_{{{one}}} {name}_{{{two}}}" for one in places for two in places if one < two]
        return f"{squares} + {' + '.join(pairs[:4])}"
    other = pick(rng, COMMON)
    return " + ".join(f"{other}_{{{place}}} {name}_{{{place}}}" for place in places) + f" = {atom(rng)}"


def _powered(rng: Rng) -> str:
    left, right = pick(rng, ["( )", "( )", "[ ]", "| |"]).split()
    inner = f"\\frac{{{terms(rng, 0, 2)}}}{{{terms(rng, 0, 2)}}}"
    power = pick(rng, ["2", "n", "3", "-1", "1/2", "k"])
    return f"{_side(rng)}\\left{left} {inner} \\right{right}^{{{power}}}"


def _tall(rng: Rng) -> str:
    """Write tall brackets around fractions and sums, which are no binomials."""
    part = f"\\frac{{{atom(rng)}}}{{{atom(rng)}}}"
    inner = pick(
        rng, [part, f"{atom(rng)} {pick(rng, ['+', '-'])} {part}", f"{part} + {part}", f"{part} - {atom(rng)}"]
    )
    power = pick(rng, ["", "", "^{n}", "^{2}", f"^{{{atom(rng)}}}"])
    index = pick(rng, ["n", "x", "k", "h", "m"])
    before = pick(
        rng, [f"\\lim_{{{index} \\to \\infty}}", f"\\frac{{d}}{{d{index}}}", _side(rng), _side(rng), atom(rng), part]
    )
    after = pick(rng, ["", f" = {atom(rng)}", f" = {part}", f" {pick(rng, ['+', '-'])} {terms(rng, 0, 2)}"])
    return f"{before} \\left( {inner} \\right){power}{after}"


def _congruence(rng: Rng) -> str:
    """Write a congruence with a gap as wide as TeX, KaTeX or MathJax leave before the modulus."""
    left = pick(rng, [letter(rng), number(rng), f"{letter(rng)}^{{{atom(rng)}}}", terms(rng, 0, 2)])
    gap, space = pick(rng, ["\\quad", "\\quad", "\\qquad", "~", "\\ "]), pick(rng, ["\\;", "\\,", "~", "~"])
    modulus = pick(rng, [pick(rng, COMMON), "p", "m", number(rng), f"{pick(rng, COMMON)} - 1"])
    return f"{left} \\equiv {atom(rng)} {gap} (\\operatorname{{mod}} {space} {modulus})"


def _root(rng: Rng) -> str:
    degree = pick(rng, ["", "[3]", "[n]", "[4]", "[k]", "[5]"])
    inner = pick(
        rng, [terms(rng, 0, 2), f"{number(rng)} + \\sqrt{{{atom(rng)}}}", f"\\frac{{{atom(rng)}}}{{{atom(rng)}}}"]
    )
    return f"{_side(rng)}\\sqrt{degree}{{{inner}}}"


def _reaction(rng: Rng) -> str:
    def molecule() -> str:
        count = f"_{{{int(rng.integers(2, 5))}}}" if rng.random() < 0.6 else ""
        charge = pick(rng, ["", "", "^{+}", "^{-}", "^{2+}"])
        return f"\\mathrm{{{pick(rng, _ELEMENTS)}{pick(rng, ['', 'H', 'O', 'Cl'])}{count}{charge}}}"

    arrow = pick(rng, ["\\rightarrow", "\\rightleftharpoons", "\\rightleftharpoons", "\\longrightarrow"])
    return f"{number(rng)} {molecule()} + {molecule()} {arrow} {molecule()} + {molecule()}"


def _alone(rng: Rng) -> str:
    kind = rng.random()
    return pick(rng, _SINGLE) if kind < 0.6 else str(int(rng.integers(10))) if kind < 0.7 else pick(rng, LATIN)


def _unit_matrix(rng: Rng) -> str:
    size, entry = int(rng.integers(2, 6)), pick(rng, ["1", "1", letter(rng), number(rng)])
    rows = [" & ".join(entry if row == column else "0" for column in range(size)) for row in range(size)]
    name = pick(rng, ["pmatrix", "bmatrix"])
    body = " \\\\ ".join(rows)
    whole = f"\\begin{{{name}}} {body} \\end{{{name}}}"
    return f"{pick(rng, ['I = ', 'A = ', f'I_{{{size}}} = ', ''])}{whole if rng.random() < 0.7 else matrix(rng, 0)}"


_KINDS: tuple[Callable[[Rng], str], ...] = (
    _brace, _brace, _floor, _floor, _many_integrals, _many_integrals, _vectors, _segments, _prescript, _prime, _tower,
    _physics, _logic, _expectation, _long_sum, _powered, _root, _reaction, _alone, _alone, _unit_matrix,
    _tall, _congruence,
)  # fmt: skip
