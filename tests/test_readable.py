"""LaTeX as people write it: golden cases, what holds for any formula, and the same picture as the token form."""

import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from unrender.latex import bare, check, normalise, readable
from unrender.typesetting import Style, lay_out
from unrender.typesetting.dvi import Layout

LABELS = Path.home() / ".cache" / "unrender" / "data" / "im2latex-printed-validate" / "labels.tsv"
SAMPLES = 300
DPI = 100
NEAR = 0.05  # pixels
needs_tex = pytest.mark.skipif(not shutil.which("latex"), reason="needs latex")

WRITTEN = {
    r"x = \frac { - b \pm \sqrt { b ^ { 2 } - 4 a c } } { 2 a }": r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\operatorname { c o s } x": r"\cos x",
    r"\operatorname { c o s } ( x )": r"\cos(x)",
    r"\operatorname* { l i m } _ { x \to 0 } f ( x )": r"\lim_{x \to 0} f(x)",
    r"\operatorname { t r } A": r"\operatorname{tr} A",
    r"{ \bf x } + { \cal L } _ { 0 }": r"\mathbf{x} + \mathcal{L}_0",
    r"{ \bf a b } ^ { 2 }": r"{\mathbf{ab}}^2",
    r"\mathrm { i f ~ } x > 0": r"\text{if }x > 0",
    r"\mathrm { e f f }": r"\mathrm{eff}",
    r"x _ { \mathrm { n o t ~ s m a l l } }": r"x_{\mathrm{not~small}}",
    r"f ^ { \prime } ( x ) = g _ { i } ^ { \prime \prime 2 }": r"f'(x) = g_i''^2",
    r"\sum _ { i = 1 } ^ { n } i ^ { 2 }": r"\sum_{i=1}^n i^2",
    r"f ( x , y ) = - x \cdot y - 2": r"f(x, y) = -x \cdot y - 2",
    r"a _ { 1 } , \ldots , a _ { n }": r"a_1, \ldots, a_n",
    r"{ x } + { a + b } + { - c }": r"x + a + b + {-c}",
    r"\sqrt [ 3 ] { x }": r"\sqrt[3]{x}",
    r"\left( \frac 1 2 \right) ^ { n }": r"\left(\frac{1}{2}\right)^n",
    r"\hspace { 0 . 5 i n } x": r"\hspace{0.5in}x",
    r"\left( \begin{array} { c c } { a } & { b } \\ { c } & { d } \\ \end{array} \right)": (
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}"
    ),
    r"\left| \begin{array} { c } { a } \\ { [ b ] } \\ \end{array} \right|": (
        r"\begin{vmatrix} a \\ {[b]} \end{vmatrix}"
    ),
    r"\left\{ \begin{array} { l l } { x } & { \mathrm { i f ~ } x > 0 } \\ { 0 } & { } \\ \end{array} \right.": (
        r"\begin{cases} x & \text{if }x > 0 \\ 0 & \end{cases}"
    ),
    r"\begin{array} { r l } { a } & { = b } \\ { } & { = c } \\ \end{array}": (
        r"\begin{aligned} a &= b \\ &= c \end{aligned}"
    ),
    r"\begin{array} { c } { a } \\ { b } \\ \end{array}": r"\begin{gathered} a \\ b \end{gathered}",
    r"\begin{array} { c c } { a } & { b } \\ \end{array}": r"\begin{matrix} a & b \end{matrix}",
    r"\begin{array} { l | r } { a } & { b } \\ \hline { c } & { d } \\ \end{array}": (
        r"\begin{array}{l|r} a & b \\ \hline c & d \end{array}"
    ),
    r"a \ ": "a~",
}
# Each compiles to the very same boxes as its token form.
SAME = r"""
x = \frac { - b \pm \sqrt { b ^ { 2 } - 4 a c } } { 2 a }
e ^ { i \pi } + 1 = 0
\operatorname { c o s } ^ { 2 } \theta + \operatorname { s i n } ^ { 2 } \theta = 1
\operatorname* { l i m } _ { n \rightarrow \infty } \left( 1 + \frac { 1 } { n } \right) ^ { n } = e
\operatorname* { m a x } _ { x \in X } f ( x ) , \operatorname { t r } A
{ \bf E } = - \nabla \phi - \frac { \partial { \bf A } } { \partial t }
{ \cal L } = { \bar { \psi } } ( i \gamma ^ { \mu } D _ { \mu } - m ) \psi
{ \bf a b } ^ { 2 } + { \cal { C } } _ { i } + { x } ^ { 2 } + { x y } ^ { 2 }
f ^ { \prime } ( x ) + g ^ { \prime \prime } _ { i } + h ^ { \prime 2 }
\int _ { 0 } ^ { \infty } e ^ { - x ^ { 2 } } \, d x = \frac { \sqrt { \pi } } { 2 }
\sum _ { n = 1 } ^ { \infty } \frac 1 { n ^ { 2 } } = \frac { \pi ^ { 2 } } { 6 }
a { + } b { , } c { = } d , { a + b } . { a \nu } ,
\left. \frac { d f } { d x } \right| _ { x = 0 } = \left\langle \phi | \psi \right\rangle
\Big ( a + b \Big ) ^ { 2 } \bigl [ c \bigr ] \Bigg | d
\hat { x } _ { i } { \hat { x } } ^ { 2 } \overline { { z } } \vec { \alpha }
\sqrt [ 3 ] { 1 + \sqrt { x } } \not = 1
x _ { \mathrm { e f f } } + \mathrm { d } x + x _ { \mathrm { n o t ~ s m a l l } }
n \mathrm { ~ e v e n ~ } m
\stackrel { \mathrm { d e f } } { = } \overset { a } { b } \underset { c } { d }
T ^ { \mu } { } _ { \nu } { } ^ { \rho } { _ { \kappa } }
{ a \atop b } + { \displaystyle \frac { a } { b } } + { \frac { c } { d } } ^ { 2 }
x ^ { * } y ^ { + } z ^ { - } w ^ { \dagger } 9 0 ^ { \circ }
\binom { n } { k } = \frac { n ! } { k ! ( n - k ) ! }
\begin{array} { l | r } { a } & { b } \\ \hline { [ c ] } & { * d } \\ \end{array}
\underbrace { a + b } _ { n } + \overbrace { c } ^ { m }
\lfloor x \rfloor + \lceil y \rceil + \lvert z \rvert
\iint _ { S } \oint _ { C } \iiint f
A \rightleftharpoons B \xrightarrow { k } C \xleftarrow [ a ] { b } D
\forall x \exists y : x \in \emptyset , \varnothing , \angle A
\sum _ { \substack { i < j \\ k } } a _ { i }
a \equiv b \pmod { n } , a \bmod b
\mathbb { R } ^ { n } \mathfrak { g } \boldsymbol { \alpha } 5 0 \%
- - a -- b
a \ b ~ c \quad d \qquad e \; f \! g
\tilde { \cal A } _ { \mu } ^ { a } { \bf 2 8 } \oplus \overline { { \bf 2 8 } }
{ \tt a } { \sf b } { \it c d } { \bf \Gamma \alpha }
""".strip().split("\n")
# TeX sets these environments with other margins than the arrays they are read as: the glyphs are the same.
SAME_GLYPHS = r"""
\left( \begin{array} { c c } { a } & { b } \\ { c } & { d } \\ \end{array} \right)
\left[ \begin{array} { c } { x } \\ { y } \\ { z } \\ \end{array} \right]
\left| \begin{array} { c c } { a } & { b } \\ { c } & { d } \\ \end{array} \right|
f = \left\{ \begin{array} { l l } { x } & { \mathrm { i f ~ } x > 0 } \\ { 0 } & { } \\ \end{array} \right.
\begin{array} { r l } { a } & { = b + c } \\ { } & { = d } \\ \end{array}
\begin{array} { c } { a = b } \\ { c = d } \\ \end{array}
\operatorname* { l i m s u p } _ { n } a
n \mathrm { ~ i f ~ } m
""".strip().split("\n")
_ENVIRONMENT = re.compile(r"\\begin\{(?!array\b)")
# Text commands keep the blanks of the token form, and \text sets an f before a blank without its slant.
_BY_CONSTRUCTION = re.compile(r"\\text|\\limsup|\\liminf|\\fbox|\\emph")


@pytest.mark.parametrize(("tokens", "written"), WRITTEN.items(), ids=WRITTEN)
def test_a_formula_is_written_as_a_person_would(tokens: str, written: str):
    assert readable(tokens) == written


@pytest.mark.parametrize("tokens", [*WRITTEN, *SAME, *SAME_GLYPHS])
def test_what_is_written_means_the_same(tokens: str):
    assert bare(readable(tokens)) == bare(tokens)
    if not re.search(r"\{ a \+ b|\\it|\\ $", tokens):  # braces, fonts and blanks that only one of the forms has
        assert normalise(readable(tokens), unify=True) == normalise(tokens, unify=True)
    assert readable(readable(tokens)) == readable(tokens)


@needs_tex
def test_what_is_written_compiles_to_the_same_boxes():
    pairs = _typeset(SAME)
    assert [tokens for tokens, (before, after) in zip(SAME, pairs, strict=True) if not _is_same(before, after)] == []


@needs_tex
def test_environments_have_the_same_glyphs():
    pairs = _typeset(SAME_GLYPHS)
    differing = [tokens for tokens, (one, two) in zip(SAME_GLYPHS, pairs, strict=True) if _glyphs(one) != _glyphs(two)]
    assert differing == []


@needs_tex
@pytest.mark.skipif(not LABELS.exists(), reason="the validation labels are not on this machine")
def test_labels_compile_to_the_same_boxes():
    lines = LABELS.read_text(encoding="utf-8").splitlines()
    labels = [label for line in lines if check(label := line.partition("\t")[2]) is None]
    chosen = random.Random(0).sample(labels, SAMPLES)
    different = []
    for label, (before, after) in zip(chosen, _typeset(chosen), strict=True):
        written = readable(label)
        if before is None or _is_same(before, after):
            continue  # a label that TeX refuses says nothing
        by_construction = _ENVIRONMENT.search(written) or _BY_CONSTRUCTION.search(written)
        if not by_construction or _glyphs(before) != _glyphs(after):
            different.append((label, written))
    assert different == []


def _typeset(formulas: Sequence[str]) -> list[tuple[Layout | None, Layout | None]]:
    written = [readable(formula) for formula in formulas]
    return list(zip(*(lay_out(forms, Style(), DPI) for forms in (formulas, written)), strict=True))


def _is_same(one: Layout | None, other: Layout | None) -> bool:
    """Whether every glyph and rule of one stands where the other has it."""
    if one is None or other is None:
        return one is other
    ours, theirs = _boxes(one), _boxes(other)
    return len(ours) == len(theirs) and all(
        kind == other_kind and all(abs(a - b) < NEAR for a, b in zip(place, other_place, strict=True))
        for (kind, place), (other_kind, other_place) in zip(ours, theirs, strict=True)
    )


def _boxes(layout: Layout) -> list[tuple[str, tuple[float, ...]]]:
    left, top, _, _ = layout.bounds()
    glyphs = [(f"{glyph.key} {glyph.size:.2f}", (glyph.x - left, glyph.y - top)) for glyph in layout.glyphs]
    rules = [("rule", (rule.x - left, rule.y - top, rule.width, rule.height)) for rule in layout.rules]
    return [*glyphs, *rules]


def _glyphs(layout: Layout | None) -> list[tuple[str, int, float]]:
    """Return the kind and size of all glyphs but fences, which grow with the rows."""
    assert layout is not None
    return sorted((*glyph.key, round(glyph.size)) for glyph in layout.glyphs if glyph.key[0] != "cmex")
