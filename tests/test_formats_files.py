"""What goes to files: LaTeX and Word documents that open as they are, tables of fields, readable receipts."""

import csv
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from unrender import formats
from unrender.documents import Block, Document, Page
from unrender.errors import NotationError
from unrender.formats.blocks import make_table, one_page, split_formulas
from unrender.formats.formulas.linear import formula_to_text
from unrender.formats.formulas.mathml import formula_to_mathml
from unrender.formats.formulas.omml import NAMESPACE, formula_to_omml
from unrender.formats.formulas.sympy import formula_to_sympy
from unrender.formats.formulas.typst import formula_to_typst
from unrender.latex import bare, normalise, readable

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
RECEIPT = one_page(
    Block(
        kind="fields",
        fields={
            "company": {"text": "BOOKS & CO", "confidence": 0.9, "box": [1.0, 2.0, 3.0, 4.0]},
            "date": {"text": "25/12/2018", "confidence": 0.8, "box": [1.0, 2.0, 3.0, 4.0]},
            "address": {"text": "1, HIGH STREET", "confidence": 0.8, "box": [1.0, 2.0, 3.0, 4.0]},
            "total": None,
        },
    )
)
PAGE = one_page(
    Block(kind="heading", text="1 Gains & losses", level=1),
    Block(kind="text", text="Let \\(x_1 \\to 0\\), so α ≤ 50 % of $5 and $6_a for {all}.\nNext line"),
    Block(kind="formula", text=r"\sum_{i=1}^n i = \frac{n(n + 1)}{2}"),
    Block(kind="formula", text=r"\cancel{x} \not\well {formed"),
    Block(kind="unordered_list", children=(Block(kind="list_item", text="one #"), Block(kind="list_item", text="two"))),
    Block(
        kind="table",
        children=(Block(kind="caption", text="Table_1"), *make_table([["a", "b"], ["1", "&"]], header_rows=1)),
    ),
    Block(kind="code", text="if x < 1:\n    pass"),
)
# What the formula reader must know: token form, and the same in plain text.
SYMBOLS = {
    r"x \in \emptyset": "x ∈ ∅",
    r"\varnothing \neq A": "∅ ≠ A",
    r"\iint _ { S } f": "∬_S f",
    r"\iiint f": "∭ f",
    r"\oint _ { C } f": "∮_C f",
    r"\sqrt [ 3 ] { x }": "∛x",
    r"\angle A": "∠A",
    r"\lfloor x \rfloor + \lceil y \rceil": "⌊x⌋ + ⌈y⌉",
    r"\exists x \forall y \nexists z": "∃x∀y∄z",
    r"A \rightleftharpoons B": "A ⇌ B",
    r"A \leftrightharpoons B": "A ⇋ B",
    r"A \xrightarrow { k } B": "A→^kB",
    r"A \xleftarrow [ a ] { b } B": "A←_a^bB",
    r"x \mathrm { ~ i f ~ } y": "x if y",
    r"\begin{array} { r l } { a } & { = b } \\ { } & { = c } \\ \end{array}": "[a, = b; , = c]",
    r"\begin{array} { c } { a } \\ { b } \\ \end{array}": "[a; b]",
    r"\left\{ \begin{array} { l l } { a } & { b } \\ { c } & { d } \\ \end{array} \right.": "{a, b; c, d",
    r"\overbrace { a + b } ^ { n }": "a + bⁿ",
    r"\underbrace { a + b } _ { n }": "a + bₙ",
    r"\sum _ { \substack { i < j \\ k } } a": "∑_([i < j; k]) a",
    r"a \equiv b \pmod { n }": "a ≡ b (mod n)",
    r"a \bmod b": "a mod b",
    r"\binom { n } { k }": "binomial(n, k)",
    r"\cancel { x }": "x̸",
    r"a , \ldots , b \cdots c \vdots \ddots": "a, …, b⋯c⋮⋱",
    r"\lvert x \rvert": "|x|",
    r"\boldsymbol { \alpha } + \mathbf { x }": "𝛂 + 𝐱",
    r"\mathbb { R } ^ { n }": "ℝⁿ",
    r"9 0 ^ { \circ }": "90^∘",
    r"5 0 \%": "50%",
}


@pytest.mark.parametrize(("tokens", "plain"), SYMBOLS.items(), ids=SYMBOLS)
def test_every_symbol_goes_round_and_into_every_notation(tokens: str, plain: str):
    assert normalise(tokens) == tokens
    assert bare(readable(tokens)) == bare(tokens)
    assert normalise(readable(tokens), unify=True) == normalise(tokens, unify=True)
    assert formula_to_text(tokens) == plain
    ElementTree.fromstring(formula_to_mathml(tokens))
    _equation(tokens)
    assert formula_to_typst(tokens)
    try:
        compile(formula_to_sympy(tokens), "formula", "exec")
    except NotationError as error:
        assert str(error).startswith("SymPy cannot express")  # noqa: PT017 - either is right


def test_floors_and_ceilings_have_a_meaning():
    assert formula_to_sympy(r"\lfloor x \rfloor").endswith("formula = floor(x)")
    assert formula_to_sympy(r"\left\lceil x + 1 \right\rceil").endswith("formula = ceiling(x + 1)")


@pytest.mark.parametrize(
    ("tokens", "tags"),
    [
        (r"\frac { a } { b }", ["f", "num", "r", "t", "den", "r", "t"]),
        (r"\sum _ { i } ^ { n } i = 1", ["nary", "naryPr", "chr", "limLoc", "subHide", "supHide", "sub", "r"]),
        (r"\sqrt { x }", ["rad", "radPr", "degHide", "deg", "e", "r", "t"]),
        (r"\hat { x } ^ { 2 }", ["sSup", "e", "acc", "accPr", "chr", "e", "r", "t", "sup"]),
        (r"\left( x \right.", ["d", "dPr", "begChr", "endChr", "e"]),
        (r"\operatorname* { l i m } _ { x } x", ["limLow", "e", "r"]),
    ],
)
def test_word_equations_have_their_structure(tokens: str, tags: list[str]):
    found = [element.tag.removeprefix(f"{{{NAMESPACE}}}") for element in _equation(tokens).iter()]
    kept = [tag for tag in found if not tag.startswith("{") and tag not in ("rPr", "sty", "x", "oMath")]
    assert kept[: len(tags)] == tags


def test_a_word_document_has_real_equations_and_all_the_text():
    with zipfile.ZipFile(io.BytesIO(formats.write_file(PAGE, "docx"))) as archive:
        assert archive.testzip() is None
        roots = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()}
    body = roots["word/document.xml"]
    assert len(body.findall(f".//{{{NAMESPACE}}}oMathPara")) == 1
    assert len(body.findall(f".//{{{NAMESPACE}}}oMath")) == 2
    text = "\n".join(element.text or "" for element in body.iter(f"{WORD}t"))
    for part in (
        "1 Gains & losses",
        "of $5 and $6_a for {all}.",
        "Next line",
        "\\well",
        "• one #",
        "Table_1",
        "if x < 1:",
    ):
        assert part in text
    assert formats.write_file(PAGE, "docx") == formats.write_file(PAGE, "docx")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("document", [PAGE, RECEIPT, one_page(), one_page(Block(kind="formula", text="x^2"))])
def test_a_latex_file_compiles_as_it_is(document: Document, tmp_path: Path):
    (tmp_path / "page.tex").write_bytes(formats.write_file(document, "latex"))
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-1500:].decode(errors="replace")
    assert (tmp_path / "page.pdf").exists()


def test_a_receipt_is_readable_lines():
    lines = ["company: BOOKS & CO", "date: 25/12/2018", "address: 1, HIGH STREET"]
    assert formats.write(RECEIPT, "text") == "\n".join(lines)
    assert formats.write(RECEIPT, "markdown") == "\n".join(f"- {line}" for line in lines)
    labelled = one_page(Block(kind="fields", fields=[{"label": "question", "text": "NAME", "confidence": 0.5}]))
    assert formats.write(labelled, "text") == "question: NAME"


def test_fields_are_a_row_of_csv_and_tables_are_rows():
    rows = list(csv.reader(io.StringIO(formats.write(RECEIPT, "csv"))))
    assert rows == [["company", "date", "address", "total"], ["BOOKS & CO", "25/12/2018", "1, HIGH STREET", ""]]
    assert formats.write(PAGE, "csv") == "a,b\n1,&"
    with pytest.raises(NotationError, match="CSV can express fields and tables only"):
        formats.write(one_page(Block(kind="formula", text="x")), "csv")


DETAILED = {
    "company": {"text": "Café <&>", "confidence": 0.9, "box": [1, 2, 3, 4]},
    "amount": 8.4,
    "iso_date": "2025-02-05",
    "tax": None,
    "items": [
        {"description": "Tea", "quantity": 2.0, "price": 2.6},
        {"description": "Tart", "quantity": 1.0, "price": 4.5},
    ],
}
OTHER = {**DETAILED, "tax": [{"rate": 7.0, "amount": 0.3}], "items": None}


def test_several_values_of_a_receipt_share_a_cell_of_csv_and_empty_columns_are_left_out():
    both = formats.write_table([one_page(Block(kind="fields", fields=fields)) for fields in (DETAILED, OTHER)], "csv")
    rows = list(csv.DictReader(io.StringIO(both.decode())))
    assert [row["items.quantity"] for row in rows] == ["2; 1", ""]
    assert [row["tax.rate"] for row in rows] == ["", "7"]
    assert not {"tax", "items"} & rows[0].keys()


def test_receipts_on_the_pages_of_one_file_are_told_apart_by_their_pages():
    block = Block(kind="fields", fields=DETAILED)
    pages = tuple(Page(number=number, width=9, height=9, blocks=(block,)) for number in (1, 2))
    rows = list(csv.DictReader(io.StringIO(formats.write(Document(pages=pages), "csv"))))
    assert [row["page"] for row in rows] == ["1", "2"]
    with zipfile.ZipFile(io.BytesIO(formats.write_file(Document(pages=pages), "xlsx"))) as book:
        assert book.read("xl/worksheets/sheet2.xml").decode().count("<row><c><v>2</v></c>") == 2


def test_a_receipt_is_an_excel_file_with_numbers_dates_and_a_sheet_of_goods():
    content = formats.write_file(one_page(Block(kind="fields", fields=DETAILED)), "xlsx")
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        sheets = re.findall(r'sheet name="(\w+)"', book.read("xl/workbook.xml").decode())
        fields, goods = (book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2))
    assert sheets == ["fields", "items"]
    assert "Café &lt;&amp;&gt;</t>" in fields
    assert "<c><v>8.4</v></c>" in fields
    assert '<c s="2"><v>45693</v></c>' in fields  # 2025-02-05 in days, shown as a date
    assert goods.count("<row>") == 3
    assert "<c><v>2.6</v></c>" in goods
    with pytest.raises(NotationError, match="Excel files can express fields and tables only"):
        formats.write_file(one_page(Block(kind="formula", text="x")), "xlsx")
    with zipfile.ZipFile(io.BytesIO(formats.write_file(PAGE, "xlsx"))) as book:
        assert "<c><v>1</v></c>" in book.read("xl/worksheets/sheet1.xml").decode()


def test_a_box_is_one_line_of_json():
    written = formats.write(one_page(Block(kind="fields", fields=DETAILED)), "json")
    assert '"box": [1, 2, 3, 4]' in written
    assert json.loads(written) == DETAILED
    tricky = {"text": "[\n  1,\n  2\n]", "numbers": [], "nested": [[1.5, -2e-7], {"x0": 1, "y0": 2}]}
    written = formats.write(one_page(Block(kind="fields", fields=tricky)), "json")
    assert json.loads(written) == tricky
    assert '{"x0": 1, "y0": 2}' in written


def test_formulas_within_a_text_are_plain_in_plain_text():
    page = one_page(Block(kind="text", text=r"Let $\alpha \leq x^2$ be; it costs $5."))
    assert formats.write(page, "text") == "Let α ≤ x² be; it costs $5."


def test_docx_is_no_text():
    with pytest.raises(NotationError, match="docx cannot be printed; write it to a file"):
        formats.write(PAGE, "docx")


def test_formulas_in_a_text_are_told_from_prices():
    pieces = list(split_formulas(r"a \(x\) costs $5 and $6, $y_1$ \(z{\) end"))
    assert [piece for piece, is_latex in pieces if is_latex] == ["x", "y_1"]
    assert "".join(piece for piece, _ in pieces) == r"a x costs $5 and $6, y_1 \(z{\) end"


def test_a_page_stands_alone_in_html():
    page = formats.write(Document(pages=(Page(number=1, width=1, height=1, blocks=PAGE.blocks),)), "html")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<math") == 2
    assert "http" not in page.replace("http://www.w3.org/1998/Math/MathML", "")


def _equation(tokens: str) -> ElementTree.Element:
    spaces = f'xmlns:m="{NAMESPACE}" xmlns:w="w"'
    return ElementTree.fromstring(f"<x {spaces}>{formula_to_omml(tokens, display=False)}</x>")
