"""LaTeX: tokens, the canonical form, the checker, and what holds for any text."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender.errors import LatexError
from unrender.latex import bare, check, normalise, parse, readable, tokenise, write
from unrender.latex.tree import fit_columns

relaxed = settings(deadline=None, max_examples=150)  # a busy machine is no failure

CANONICAL = {
    "tokens stand between single spaces": ("x+y =  1", "x + y = 1"),
    "scripts are always braced": ("x_1^\\alpha", "x _ { 1 } ^ { \\alpha }"),
    "sub comes before sup": ("x^{a}_{b}", "x _ { b } ^ { a }"),
    "\\sp and \\sb are scripts": ("x\\sp2\\sb3", "x _ { 3 } ^ { 2 }"),
    "primes are a superscript": ("f''_1", "f _ { 1 } ^ { \\prime \\prime }"),
    "primes and a power share one superscript": ("f'^2", "f ^ { \\prime 2 }"),
    "an accent's argument is braced": ("\\hat a\\vec\\alpha", "\\hat { a } \\vec { \\alpha }"),
    "other arguments keep their habit": ("\\frac12 \\sqrt x", "\\frac 1 2 \\sqrt x"),
    "\\over is \\frac": ("{a+1\\over b}", "{ \\frac { a + 1 } { b } }"),
    "\\choose is \\binom": ("{n\\choose k}", "{ \\binom { n } { k } }"),
    "\\over takes all of its group": ("a\\over b", "\\frac { a } { b }"),
    "\\dfrac and \\tfrac are \\frac": ("\\dfrac{a}{b}\\tfrac{c}{d}", "\\frac { a } { b } \\frac { c } { d }"),
    "\\rm is \\mathrm over what follows": ("{\\rm abc} d", "{ \\mathrm { a b c } } d"),
    "other font switches stay": ("{\\bf x}{\\cal L}", "{ \\bf x } { \\cal L }"),
    "\\text is \\mathrm with its blanks": ("\\text{if  x}", "\\mathrm { i f ~ x }"),
    "\\mbox and \\hbox are \\mathrm": ("\\mbox{a}\\hbox{b}", "\\mathrm { a } \\mathrm { b }"),
    "\\left and \\right are one token with their delimiter": ("\\left( x \\right .", "\\left( x \\right."),
    "\\left\\{ is one token": ("\\left \\{ x \\right\\rangle", "\\left\\{ x \\right\\rangle"),
    "a sized delimiter is two": ("\\Bigl( x \\bigr\\}", "\\Bigl ( x \\bigr \\}"),
    "operator names are spelled out": ("\\sin x", "\\operatorname { s i n } x"),
    "operators with limits get a star": ("\\lim_{x\\to 0}", "\\operatorname* { l i m } _ { x \\to 0 }"),
    "\\limits is dropped": ("\\sum\\limits_a^b", "\\sum _ { a } ^ { b }"),
    "an array has explicit columns and braced cells": (
        "\\begin{array}{l@{}r}a&b\\\\\\hline c\\end{array}",
        "\\begin{array} { l r } { a } & { b } \\\\ \\hline { c } \\\\ \\end{array}",
    ),
    "a matrix is an array between delimiters": (
        "\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}",
        "\\left( \\begin{array} { c c } { a } & { b } \\\\ { c } & { d } \\\\ \\end{array} \\right)",
    ),
    "cases open to the right": (
        "\\begin{cases}a&b\\end{cases}",
        "\\left\\{ \\begin{array} { l l } { a } & { b } \\\\ \\end{array} \\right.",
    ),
    "aligned equations are an array": (
        "\\begin{aligned}a&=b\\\\&=c\\end{aligned}",
        "\\begin{array} { r l } { a } & { = b } \\\\ { } & { = c } \\\\ \\end{array}",
    ),
    "the gap after a row is dropped": (
        "\\begin{array}{c}a\\\\[2pt] b\\end{array}",
        "\\begin{array} { c } { a } \\\\ { b } \\\\ \\end{array}",
    ),
    "gathered, gather and multline are an array of one column": (
        "\\begin{gather*}a\\\\b\\end{gather*}",
        "\\begin{array} { c } { a } \\\\ { b } \\\\ \\end{array}",
    ),
    "an equation is what stands in it": ("\\begin{equation}a+b\\end{equation}", "a + b"),
    "rows of \\substack stand in one pair of braces": (
        "\\sum_{\\substack{i<j\\\\k}}",
        "\\sum _ { \\substack { i < j \\\\ k } }",
    ),
    "\\pmod has an argument": ("a\\pmod n", "a \\pmod n"),
    "a degree is a superscript": ("90°+1\\degree", "9 0 ^ { \\circ } + 1 ^ { \\circ }"),
    "blanks around a word stay": ("a\\text{ if }b\\text{ c }", "a \\mathrm { ~ i f ~ } b \\mathrm { ~ c ~ }"),
    "labels and tags are dropped": ("x\\label{eq:a_b}\\tag{1}", "x"),
    "comments and dollars are dropped": ("$x$ % a remark\n+ y", "x + y"),
    "\\hskip is \\hspace": ("\\hskip 3pt x", "\\hspace { 3 p t } x"),
    "\\kern is \\hspace": ("\\kern-.1em", "\\hspace { - . 1 e m }"),
    "spaces stay": ("a\\,b\\ c~d\\quad e", "a \\, b \\ c ~ d \\quad e"),
    "a root's index stays in brackets": ("\\sqrt[3]{x}", "\\sqrt [ 3 ] { x }"),
    "two dashes stay one token": ("a -- b", "a -- b"),
    "a script takes one of two dashes": ("D^--D", "D ^ { - } - D"),
}
UNIFIED = {
    "every argument is braced": ("\\frac12 \\sqrt x", "\\frac { 1 } { 2 } \\sqrt { x }"),
    "one spelling for each symbol": ("a\\le b\\ne c\\to d\\ast", "a \\leq b \\neq c \\rightarrow d *"),
    "needless braces go": ("{x}+{\\frac{a}{b}}", "x + \\frac { a } { b }"),
    "braces that hold signs apart stay": ("a{+}b{,}c", "a { + } b { , } c"),
    "a script without base keeps its braces": ("Q^\\nu{_\\kappa}", "Q ^ { \\nu } { _ { \\kappa } }"),
    "an empty base stays": ("M^i{}_j", "M ^ { i } { } _ { j }"),
    "\\mathcal and \\mathbf are switches": ("\\mathcal L\\mathbf{x}", "{ \\cal L } { \\bf x }"),
    "wrappers of atoms go": ("\\mathop{\\rm Tr}x", "\\mathrm { T r } x"),
    "dashes are signs": ("a -- b^{--}", "a - - b ^ { - - }"),
    "only the last dash carries a script": ("--^2", "- - ^ { 2 }"),
    "\\nonumber goes": ("x\\nonumber", "x"),
    "\\lt and \\gt are < and >": ("a\\lt b\\gt c", "a < b > c"),
}
BARE = {
    "delimiters have no size": ("\\left(a\\Bigl)b\\right]", "( a ) b ]"),
    "the invisible delimiter goes": ("\\left.x\\right|_0", "x | _ { 0 }"),
    "fonts go": ("\\mathrm{H}_\\sigma{\\bf x}\\mathbb R", "H _ { \\sigma } x R"),
    "an operator is one token": ("\\operatorname*{lim}_{x\\to0}\\mathrm{sin}x", "\\lim _ { x \\rightarrow 0 } \\sin x"),
    "spaces go": ("a\\,b\\quad c~d\\hspace{1cm}e", "a b c d e"),
    "idle braces go": ("{(x^{2}-3)^{4}}", "( x ^ { 2 } - 3 ) ^ { 4 }"),
    "scripts hang on the last symbol": ("{ab}^2", "a b ^ { 2 }"),
    "scripts of a braced script join": ("{x_1}^2", "x _ { 1 } ^ { 2 }"),
    "a fraction stays a fraction": ("\\frac{\\rm a}{b}", "\\frac { a } { b }"),
    "arrays stay": (
        "\\begin{array}{c}{\\bf a}\\\\b\\end{array}",
        "\\begin{array} { c } { a } \\\\ { b } \\\\ \\end{array}",
    ),
}
BROKEN = {
    "a{b": ("the formula ends where } was expected", 3),
    "a}b": ("a closing brace without its opening one", 1),
    "x^": ("^ has no argument", 1),
    "x_1_2": ("a second _ on one base", 3),
    "f^2'": ("a second ' on one base", 3),
    "\\frac{a}": ("\\frac has no argument", 0),
    "\\hat\\over": ("\\hat has no argument", 0),
    "a\\left(b": ("the formula ends where \\right was expected", 8),
    "a\\right)": ("\\right without \\left", 1),
    "\\left a": ("\\left needs a delimiter", 6),
    "\\big a": ("\\big needs a delimiter", 5),
    "\\begin{foo}x\\end{foo}": ("the environment foo is not known", 0),
    "a\\end{array}": ("\\end{array} without its \\begin", 1),
    "\\begin{array}x": ("\\begin{array} needs its columns in braces", 0),
    "\\begin{array}{c}x": ("was expected", 17),
    "\\hspace 3": ("\\hspace needs a length in braces", 0),
    "\\hskip x": ("\\hskip needs a length", 0),
    "\\text{a": ("\\text is not closed", 0),
    "x + é": ("'é' cannot stand in a formula", 4),
    "{" * 100: ("nested too deeply", 60),
    "\\text{" * 400: ("nested too deeply", 354),
    "\\hskip " + "9" * 600 + "pt": ("the length after \\hskip has more than 24 characters", 0),
    "\\hspace{" + "9" * 600 + "pt}": ("the length after \\hspace has more than 24 characters", 0),
    "x" * 20_001: ("at most 20,000 are parsed", 20_000),
    "[" * 100_000: ("at most 20,000 are parsed", 20_000),
    "\\substack x": ("\\substack needs its rows in braces", 0),
}
TOKENS = st.sampled_from(
    r"""a 1 + = , ( ) [ ] | _ ^ ' { } { } & \\ ~ \, \frac \over \choose \sqrt \sqrt[3] \hat \rm \bf \cal \mathrm
    \text{if} \mbox \operatorname \sin \lim \left( \left. \right) \right| \middle| \begin{array} {cc} \begin{pmatrix}
    \end{array} \end{pmatrix} \begin{cases} \end{cases} \hline \hskip 3pt \hspace{1em} \bigl( \big| -- --- \prime \alpha
    \le \nonumber \label{x} \limits \mathcal \mathop \overline \stackrel \atop \displaystyle \dfrac %x $ \quad
    \begin{foo} \unknown \substack{ \pmod °""".split()
)
JUMBLES = st.lists(st.tuples(TOKENS, st.sampled_from(["", " "])), max_size=14).map(
    lambda parts: "".join(token + blank for token, blank in parts)
)
ATOMS = st.sampled_from(
    r"""a B 7 + = , ; ( ) | -- --- ' \prime \alpha \le \to \, \! ~ \quad \ \nonumber \limits \sin \lim \max
    \displaystyle \bigl( \Big| \hspace{1em} \label{x_1} \ldots \lt \mathop{x} \mathrm{ab} \mathcal{L} \text{if_it}
    \mbox{a}""".split()
)


def compose(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Build formulas of smaller ones, in every way that is well-formed."""
    groups = parts.map(lambda inner: "{" + inner + "}")
    arguments = st.one_of(groups, st.sampled_from(["x", "2", "\\beta", "\\mathbf{v}"]).map(" {}".format))
    bases = st.one_of(groups, st.sampled_from(["x", "\\sum", "\\hat a", "", "{}", ")"]))
    cells = st.lists(st.lists(parts, min_size=1, max_size=2).map("&".join), min_size=1, max_size=2).map("\\\\ ".join)
    return st.one_of(
        st.lists(parts, max_size=3).map(" ".join),
        groups,
        st.tuples(bases, arguments, arguments).map(lambda p: f"{{}}{p[0]}_{p[1]}^{p[2]}"),
        st.tuples(bases, arguments).map(lambda p: f"{{{p[0]}^{p[1]}}}"),
        st.tuples(arguments, arguments).map(lambda p: f"\\frac{p[0]}{p[1]}"),
        st.tuples(parts, parts).map(lambda p: f"{{{p[0]}\\over {p[1]}}}"),
        parts.map(lambda inner: f"{{\\rm {inner}}}"),
        st.tuples(
            st.sampled_from(["\\sqrt", "\\sqrt[3]", "\\overline", "\\vec", "\\mathcal", "\\mathrel"]), arguments
        ).map("".join),
        parts.map(lambda inner: f"\\left( {inner}\\right."),
        cells.map(lambda rows: f"\\begin{{array}}{{cc}} {rows}\\end{{array}}"),
        cells.map(lambda rows: f"\\begin{{pmatrix}} {rows}\\end{{pmatrix}}"),
    )


FORMULAS = st.one_of(JUMBLES, st.recursive(ATOMS, compose, max_leaves=8))


def named(cases):
    return pytest.mark.parametrize(("text", "expected"), list(cases.values()), ids=list(cases))


@named(CANONICAL)
def test_the_canonical_form(text, expected):
    assert normalise(text) == expected


@named(UNIFIED)
def test_the_unified_form(text, expected):
    assert normalise(text, unify=True) == expected


@named(BARE)
def test_the_bare_form(text, expected):
    assert bare(text) == expected


@pytest.mark.parametrize("text", [text for cases in (CANONICAL, UNIFIED, BARE) for text, _ in cases.values()])
def test_what_is_written_well_is_well_formed(text):
    assert check(text) is None


@pytest.mark.parametrize("text", list(BROKEN))
def test_what_is_wrong_is_said_with_its_place(text):
    sentence, position = BROKEN[text]
    with pytest.raises(LatexError, match="at character") as caught:
        parse(text)
    assert sentence in str(caught.value)
    assert caught.value.position == position
    assert sentence in (check(text) or "")


def test_tokens_are_what_the_labels_call_tokens():
    assert tokenise(r"\left( \frac{a_1}{\sin x}\right.") == [
        "\\left(", "\\frac", "{", "a", "_", "1", "}", "{", "\\sin", "x", "}", "\\right.",
    ]  # fmt: skip


def test_the_empty_formula_is_well_formed():
    assert normalise("") == normalise("  ", unify=True) == bare("$$") == ""


@relaxed
@given(st.one_of(st.text(max_size=40), FORMULAS))
def test_any_text_gives_a_formula_or_a_latex_error_within_it(text):
    for form in (normalise, lambda text: normalise(text, unify=True), bare):
        error = _error_of(form, text)
        assert error is None or 0 <= error.position <= len(text)


@relaxed
@given(FORMULAS)
def test_normalising_twice_changes_nothing(text):
    if check(text) is None:
        once = normalise(text)
        assert normalise(once) == once
        unified = normalise(text, unify=True)
        assert normalise(unified, unify=True) == unified
        assert normalise(unified) == unified
        assert bare(bare(text)) == bare(text)


@relaxed
@given(FORMULAS)
def test_what_is_written_parses_to_the_same_writing(text):
    if check(text) is None:
        written = write(parse(text))
        assert write(parse(written)) == written
        assert written == " ".join(written.split())


@relaxed
@given(FORMULAS)
def test_unifying_and_stripping_do_not_depend_on_normalising_first(text):
    if check(text) is None:
        assert normalise(normalise(text), unify=True) == normalise(text, unify=True)
        assert bare(normalise(text, unify=True)) == bare(text)


@relaxed
@given(FORMULAS)
def test_what_people_get_is_the_same_formula(text):
    if check(text) is None:
        written = readable(text)
        assert bare(written) == bare(text)
        assert readable(written) == written


@pytest.mark.parametrize(
    "text",
    [
        "{\\rm {{}{a}_{a}^{{a}}}}",
        "\\begin{array}{cc} \\label{x_1}\\\\ \\label{x_1}\\end{array}",
        "\\left( \\begin{array}{cc} {{+}}\\end{array}\\right.",
        "\\left( \\begin{array}{cc} {\\\\over a}\\end{array}\\right.",
    ],
)
def test_needless_braces_and_empty_rows_are_written_the_same_twice(text):
    written = readable(text)
    assert bare(written) == bare(text)
    assert readable(written) == written


def test_many_switches_are_no_deep_nesting():
    assert normalise("\\rm x " * 1200).count("\\mathrm") == 1200


@pytest.mark.slow
@pytest.mark.parametrize("name", ["printed", "handwritten"])
def test_the_official_labels_are_canonical(name):
    labels = official_labels(name)
    unchanged = sum(_is_canonical(label) for label in labels)
    assert unchanged >= 0.99 * len(labels)


@pytest.mark.parametrize("name", ["printed", "handwritten"])
def test_unified_labels_stay_what_they_are(name):
    for label in official_labels(name)[::10]:
        if check(label) is None:
            unified = normalise(label, unify=True)
            assert normalise(unified, unify=True) == normalise(unified) == unified


def official_labels(name: str) -> list[str]:
    """Read the labels from where the data is unpacked, or out of the archive beside the project."""
    folder = f"im2latex-{name}-validate"
    unpacked = Path.home() / ".cache/unrender/data" / folder / "labels.tsv"
    archive = Path(__file__).parents[2] / "shared/data" / f"{folder}.tar"
    if unpacked.exists():
        lines = unpacked.read_text(encoding="utf-8").splitlines()
    elif archive.exists():
        with tarfile.open(archive) as tar:
            [member] = [member for member in tar if member.name.endswith("labels.tsv")]
            lines = tar.extractfile(member).read().decode().splitlines()
    else:
        pytest.skip(f"the official labels are neither at {unpacked} nor in {archive}")
    return [" ".join(line.split("\t")[1].split()) for line in lines]


def _error_of(form, text: str) -> LatexError | None:
    try:
        form(text)
    except LatexError as error:
        return error
    return None


def _is_canonical(label: str) -> bool:
    try:
        return normalise(label) == label
    except LatexError:
        return False


@pytest.mark.parametrize(
    ("text", "fitted"),
    [
        (
            r"\begin{array} { l c r } { a } & { b } \\ { c } \\ \end{array}",
            r"\begin{array} { l c } { a } & { b } \\ { c } \\ \end{array}",
        ),
        (r"\begin{array} { l c } { a } & { b } \\ \end{array}", r"\begin{array} { l c } { a } & { b } \\ \end{array}"),
        (r"\begin{array} { l r } a & b & c & d \end{array}", r"\begin{array} { l r r r } a & b & c & d \end{array}"),
        (
            r"\begin{array} { c c } { \begin{array} { c } { a } & { b } \end{array} } \\ \end{array}",
            r"\begin{array} { c } { \begin{array} { c c } { a } & { b } \end{array} } \\ \end{array}",
        ),
        (r"\begin{array} { } a & b \end{array}", r"\begin{array} { } a & b \end{array}"),
        (r"a & c c", r"a & c c"),
        (r"\begin{array} { c c", r"\begin{array} { c c"),
    ],
)
def test_arrays_declare_the_columns_they_have(text: str, fitted: str) -> None:
    tokens = text.split()
    assert [tokens[place] for place in fit_columns(tokens)] == fitted.split()
