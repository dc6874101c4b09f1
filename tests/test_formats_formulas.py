"""Formulas in other notations: golden cases, and 300 of the official validation labels where they are at hand."""

import random
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender.errors import NotationError
from unrender.formats.formulas.linear import formula_to_text
from unrender.formats.formulas.mathml import formula_to_mathml
from unrender.formats.formulas.sympy import formula_to_sympy
from unrender.formats.formulas.typst import formula_to_typst
from unrender.latex.characters import SIGNS, in_font

LABELS = Path.home() / ".cache" / "unrender" / "data" / "im2latex-printed-validate" / "labels.tsv"
SAMPLES = 300
MATHML = "{http://www.w3.org/1998/Math/MathML}"
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}

TOKENS = [*SIGNS, "x", "1", "{", "}", "_", "^", r"\frac", r"\sqrt", r"\bar", r"\cal", r"\mathrm", r"\not"]
COMMANDS = {token for token in TOKENS if re.fullmatch(r"\\[a-zA-Z]+", token)}

relaxed = settings(deadline=None, max_examples=60)  # a busy machine is no failure


@pytest.mark.parametrize(
    ("latex", "body"),
    [
        (r"\frac { a } { b }", "<mfrac><mi>a</mi><mi>b</mi></mfrac>"),
        (r"1 2 . 5", "<mn>12.5</mn>"),
        (r"x _ { i } ^ { 2 }", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"{ \cal L }", "<mi>ℒ</mi>"),
        (r"\mathbb { R }", "<mi>ℝ</mi>"),
        (r"{ \bf v }", "<mi>𝐯</mi>"),
        (r"\operatorname { s i n } x", "<mrow><mrow><mi>sin</mi><mo>\u2061</mo></mrow><mi>x</mi></mrow>"),
        (r"\mathrm { c o n s t }", "<mtext>const</mtext>"),
        (r"a \not = b", "<mrow><mi>a</mi><mo>≠</mo><mi>b</mi></mrow>"),
        (r"\sqrt [ 3 ] { x }", "<mroot><mi>x</mi><mn>3</mn></mroot>"),
        (r"\vec { x }", '<mover accent="true"><mi>x</mi><mo stretchy="false">→</mo></mover>'),
        (r"a < b", "<mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow>"),
        (
            r"\sum _ { i = 1 } ^ { n } i",
            "<mrow><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi></mrow>",
        ),
        (
            r"\left( x \right.",
            '<mrow><mo fence="true" stretchy="true" form="prefix">(</mo><mi>x</mi></mrow>',
        ),
        (
            r"\begin{array} { l c } { a } & { b } \\ \end{array}",
            '<mtable><mtr><mtd style="text-align: left"><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>',
        ),
    ],
)
def test_mathml(latex: str, body: str):
    written = formula_to_mathml(latex)
    assert f"<semantics>{body}<annotation" in written


def test_mathml_carries_its_source_and_is_displayed_or_inline():
    root = ElementTree.fromstring(formula_to_mathml("a < b", display=False))
    assert root.get("display") == "inline"
    assert root.findtext(f".//{MATHML}annotation") == "a < b"


@pytest.mark.parametrize(
    ("latex", "typst"),
    [
        (r"\frac { a , b } { c }", "frac(a comma b, c)"),
        (r"f ( x , y ) = 0", "f (x , y) = 0"),
        (r"[ 0 , 1 )", "bracket.l 0 , 1 paren.r"),
        (r"{ \cal L } _ { \mathrm { e f f } }", 'cal(L)_("eff")'),
        (r"\epsilon + \varepsilon + \phi", "epsilon.alt + epsilon + phi.alt"),
        (r"\binom { n } { k }", "binom(n, k)"),
        (r"\sqrt [ 3 ] { x }", "root(3, x)"),
        (r"\operatorname* { l i m } _ { x \rightarrow 0 }", "lim_(x → 0)"),
        (r"\operatorname { R e s } z", 'op("Res") z'),
        (r"\left\langle a \right|", r"lr(\⟨ a |)"),
        (
            r"\left( \begin{array} { c c } { a } & { b } \\ { c } & { } \\ \end{array} \right)",
            'mat(delim: "(", a, b; c, "")',
        ),
        (r"\underbrace { a } _ { n }", "underbrace(a, n)"),
        (r"a / b", "a slash b"),
    ],
)
def test_typst(latex: str, typst: str):
    assert formula_to_typst(latex) == typst


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac { - b \pm \sqrt { b ^ { 2 } - 4 a c } } { 2 a }", "(−b ± √(b² − 4ac))/(2a)"),
        (r"\frac 1 2 m v ^ { 2 }", "(1/2)mv²"),
        (r"\sum _ { i = 1 } ^ { n } x _ { i }", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"e ^ { - \lambda t }", "e^(−λt)"),
        (r"\operatorname { s i n } ^ { 2 } \theta", "sin² θ"),
        (r"\bar { x } + \hat { y }", "x̄ + ŷ"),
        (r"\overline { A B }", "overline(AB)"),
        (r"\mathbb { R } ^ { 3 }", "ℝ³"),
        (r"x ^ { \prime } \in \left[ 0 , 1 \right]", "x′ ∈ [0, 1]"),
        (r"\left( \begin{array} { c c } { 1 } & { 0 } \\ { 0 } & { 1 } \\ \end{array} \right)", "(1, 0; 0, 1)"),
        (r"\mathrm { i f } ~ x > 0", "if x > 0"),
        (r"\binom { n } { k }", "binomial(n, k)"),
        (r"\sqrt [ 3 ] { x }", "∛x"),
    ],
)
def test_plain_text(latex: str, text: str):
    assert formula_to_text(latex) == text


@pytest.mark.parametrize(
    ("latex", "meaning"),
    [
        (r"\frac { 1 } { 2 } x ^ { 2 } + y = 3", "Eq(x**2/2 + y, 3)"),
        (r"\operatorname { s i n } ^ { 2 } x + \operatorname { c o s } ^ { 2 } x = 1", "Eq(sin(x)**2 + cos(x)**2, 1)"),
        (r"\operatorname { s i n } ^ { - 1 } x", "asin(x)"),
        (r"x = \frac { - b + \sqrt { b ^ { 2 } - 4 a c } } { 2 a } .", "Eq(x, (-b + sqrt(b**2 - 4*a*c))/(2*a))"),
        (r"\sum _ { i = 1 } ^ { n } i ^ { 2 }", "Sum(i**2, (i, 1, n))"),
        (r"\int _ { 0 } ^ { \infty } e ^ { - x ^ { 2 } } d x", "Integral(exp(-x**2), (x, 0, oo))"),
        (r"\int d x \, x", "Integral(x, x)"),
        (
            r"\operatorname* { l i m } _ { x \rightarrow 0 } \frac { \operatorname { s i n } x } { x }",
            "Limit(sin(x)/x, x, 0)",
        ),
        (r"f ( x , y ) = g ( x ) + a ( b + c )", "Eq(Function('f')(x, y), Function('g')(x) + a*(b + c))"),
        (r"\frac { d } { d x } f ( x )", "Derivative(Function('f')(x), x)"),
        (r"2 ^ { - 1 }", "Rational(1, 2)"),
        (r"( 1 + 2 ) / 4", "Rational(3, 4)"),
        (r"n !", "factorial(n)"),
        (r"\lambda _ { 1 } x ^ { \prime }", "Symbol('lambda_1')*Symbol('x_prime')"),
        (r"a < b \leq c", "And(Lt(a, b), Le(b, c))"),
        (r"\left| x \right|", "Abs(x)"),
        (r"\left( \begin{array} { c c } { 1 } & { 2 } \\ \end{array} \right)", "Matrix([[1, 2]])"),
        (r"\binom { n } { k } \operatorname { l o g } _ { 2 } x", "binomial(n, k)*log(x, 2)"),
        (r"x = 1 , y = 2", "(Eq(x, 1), Eq(y, 2))"),
        (r"\pi r ^ { 2 }", "pi*r**2"),
    ],
)
def test_sympy(latex: str, meaning: str):
    assert _run(formula_to_sympy(latex)) == eval(meaning, {**vars(sympy), **_symbols("abcixynkr")})


def test_sympy_source_is_a_program_that_names_what_it_uses():
    assert formula_to_sympy("x ^ { 2 } = y") == (
        'from sympy import Eq, symbols\n\nx, y = symbols("x y")\nformula = Eq(x**2, y)'
    )


@pytest.mark.parametrize(
    "latex",
    [
        r"A \equiv B",
        r"a \pm b",
        r"\langle a | b \rangle",
        r"\int f",
        r"x +",
        r"( a",
        r"\sum _ { i } a _ { i }",
        r"A \otimes B",
    ],
)
def test_sympy_refuses_what_has_no_meaning_as_algebra(latex: str):
    with pytest.raises(NotationError, match="SymPy cannot express"):
        formula_to_sympy(latex)


@pytest.mark.parametrize("convert", [formula_to_mathml, formula_to_typst, formula_to_text, formula_to_sympy])
def test_an_unknown_command_and_a_broken_formula_are_named(convert):
    with pytest.raises(NotationError, match=r"\\put, whose meaning outside LaTeX is not known"):
        convert(r"a \put b")
    with pytest.raises(NotationError, match="not well-formed LaTeX"):
        convert(r"\frac { a } {")


@relaxed
@given(st.lists(st.sampled_from(TOKENS)).map(" ".join))
def test_any_tokens_convert_or_are_refused_in_one_sentence(latex: str):
    for convert in (formula_to_mathml, formula_to_typst, formula_to_text, formula_to_sympy):
        try:
            written = convert(latex)
        except NotationError:
            continue
        if convert is formula_to_mathml:
            _check_mathml(written)
            written = _shown(written)
        assert not COMMANDS & set(re.findall(r"\\[a-zA-Z]+", written)), "a LaTeX command was left as it is"


def test_letters_in_other_alphabets_are_single_unicode_letters():
    assert "".join(in_font(letter, "script") for letter in "ALz") == "𝒜ℒ𝓏"
    assert in_font("α", "bold") == "𝛂"
    assert in_font("7", "blackboard") == "𝟟"
    assert in_font("+", "bold") == "+"


needs_labels = pytest.mark.skipif(not LABELS.exists(), reason="the validation labels are not on this machine")


@needs_labels
def test_nearly_every_label_has_a_form_in_every_notation():
    sample = _sample()
    for convert in (formula_to_mathml, formula_to_typst, formula_to_text):
        assert sum(_can(convert, label) for label in sample) >= 0.99 * SAMPLES
    for label in sample:
        if _can(formula_to_mathml, label):
            _check_mathml(formula_to_mathml(label))


@needs_labels
def test_the_mathml_of_labels_shows_the_letters_that_another_converter_shows():
    from latex2mathml.converter import convert

    compared = 0
    for label in filter(lambda label: _can(formula_to_mathml, label), _sample()):
        theirs = _shown(convert(label))
        if "\\" not in theirs:  # it shows commands that it does not know as they are
            compared += 1
            assert _letters(_shown(formula_to_mathml(label))) == _letters(theirs)
    assert compared >= 0.95 * SAMPLES


@needs_labels
def test_the_sympy_programs_of_labels_run():
    programs = [formula_to_sympy(label) for label in _sample() if _can(formula_to_sympy, label)]
    assert len(programs) >= 0.2 * SAMPLES
    for program in programs:
        _run(program)


def _sample() -> list[str]:
    labels = [line.split("\t")[1].strip() for line in LABELS.read_text(encoding="utf-8").splitlines()]
    return random.Random(0).sample(labels, SAMPLES)


def _shown(mathml: str) -> str:
    elements = ElementTree.fromstring(mathml).iter()
    return "".join(element.text or "" for element in elements if not element.tag.endswith("annotation"))


def _letters(text: str) -> list[str]:
    return sorted(character for character in unicodedata.normalize("NFKC", text) if character.isalnum())


def _run(program: str) -> object:
    names: dict[str, object] = {}
    exec(program, names)
    return names["formula"]


def _symbols(letters: str) -> dict[str, object]:
    return {letter: sympy.Symbol(letter) for letter in letters}


def _can(convert, latex: str) -> bool:
    try:
        return bool(convert(latex))
    except NotationError:
        return False


def _check_mathml(text: str) -> None:
    for element in ElementTree.fromstring(text).iter():
        name = element.tag.removeprefix(MATHML)
        if name in CHILDREN:
            assert len(element) == CHILDREN[name], f"{name} has {len(element)} children"
        assert element.text is None or "\\" not in element.text or name in {"annotation", "mi"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("x(y+1)^2", "x*(y + 1)**2"),
        (r"\sin(x)^2", "sin(x)**2"),
        ("f(x)^2", 'Function("f")(x)**2'),
        ("x((y))^2", "x*(y)**2"),
    ],
)
def test_a_bracket_with_a_power_is_read_by_sympy_after_a_name_or_function(written, expected):
    assert formula_to_sympy(written).splitlines()[-1] == f"formula = {expected}"


def test_a_sign_before_a_term_stands_close_to_it_in_mathml():
    written = formula_to_mathml("y = - 2 x - 3")
    assert '<mo>=</mo><mo form="prefix">−</mo><mn>2</mn>' in written
    assert "<mo>−</mo><mn>3</mn>" in written
