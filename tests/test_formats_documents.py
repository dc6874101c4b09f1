import contextlib
import json
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unrender import formats
from unrender.documents import (
    Alternative,
    Block,
    Box,
    Check,
    Difference,
    Document,
    Line,
    Page,
    Reading,
    Status,
    Token,
)
from unrender.errors import NotationError, UnrenderError
from unrender.formats.blocks import grid, make_table, one_page
from unrender.formats.markdown import parse_blocks

HOSTILE = 1_000_000  # characters
SECONDS = 10.0  # of this process; quadratic time would take minutes
ARTICLE = one_page(
    Block(kind="page_header", text="Notes"),
    Block(kind="heading", text="1 Swings", level=1),
    Block(kind="text", text="The period of a pendulum is\nwell known: \\(T\\) grows with its length."),
    Block(kind="formula", text=r"T = 2 \pi \sqrt { \frac { l } { g } }"),
    Block(
        kind="unordered_list", children=(Block(kind="list_item", text="long"), Block(kind="list_item", text="short"))
    ),
    Block(kind="ordered_list", children=(Block(kind="list_item", text="pull"), Block(kind="list_item", text="let go"))),
    Block(kind="table", children=make_table([["length", "period"], ["1 m", "2 | 2.006 s"]], header_rows=1)),
    Block(kind="code", text="T = 2 * pi * sqrt(l / g)\n\nprint(T)", fields={"language": "python"}),
    Block(kind="picture", children=(Block(kind="caption", text="A clock."),)),
    Block(kind="page_footer", text="3"),
)
FORMULA = one_page(Block(kind="formula", text=r"\frac { a } { b }"))
RECEIPT = one_page(Block(kind="fields", text="<s_total>5</s_total>", fields={"total": "5", "menu": [{"nm": "Tea"}]}))

relaxed = settings(deadline=None, max_examples=60)  # a busy machine is no failure


def test_markdown_round_trips():
    assert formats.parse(formats.write(ARTICLE, "markdown"), "markdown") == ARTICLE


def test_doctags_round_trip():
    written = formats.write(ARTICLE, "doctags")
    [page] = formats.parse(written, "doctags").pages
    assert page.blocks == ARTICLE.blocks


def test_json_holds_the_whole_document():
    token = Token("x", 0.5, (Alternative("y", 0.25),), Box(1, 2, 3, 4))
    block = Block(
        kind="formula", text="x", tokens=(token,), confidence=0.5, readings=(Reading("x", 0.5), Reading("y", 0.25))
    )
    check = Check(0.9, (Difference("x", Box(1, 2, 3, 4)),), instead_of="y")
    line = Line("x", Box(1, 2, 30, 4), 0.75)
    other = Block(kind="text", text="x", lines=(line,), source="text layer", continued=True, check=check)
    status = Status("partial", 7, "there is more", Box(0, 20, 30, 40))
    page = Page(number=2, width=30, height=40, blocks=(block, other), status=status)
    document = Document(pages=(page,), source="a.png", model="formula", task="formula")
    assert formats.parse(formats.write(document, "json"), "json") == document


def test_json_of_fields_is_the_fields_alone():
    assert json.loads(formats.write(RECEIPT, "json")) == {"total": "5", "menu": [{"nm": "Tea"}]}


def test_json_of_several_pages_of_fields_is_a_list():
    page = RECEIPT.pages[0]
    both = Document(pages=(page, replace(page, number=2)))
    assert json.loads(formats.write(both, "json")) == [page.blocks[0].fields] * 2


@pytest.mark.parametrize(
    "text", ["", "{", "nul", '{"status": 1, "pages": 2}', '{"status": {}, "pages": [{}]}', "[" * 100_000]
)
def test_json_that_cannot_be_read_is_refused(text: str):
    with pytest.raises(NotationError, match="JSON"):
        formats.parse(text, "json")


def test_a_formula_alone_is_its_latex():
    assert formats.write(FORMULA, "latex") == r"\frac { a } { b }"
    assert formats.parse(r" \frac{a}{b} ", "latex") == one_page(Block(kind="formula", text=r"\frac{a}{b}"))


def test_latex_becomes_readable_and_the_tokens_stay():
    document = formats.parse(r"\frac { a } { b }", "latex")
    assert formats.write(document, "latex") == document.text == r"\frac{a}{b}"
    assert document.written == r"\frac { a } { b }"
    assert formats.parse(r"\frac { a", "latex").text == r"\frac { a"


def test_a_latex_document_escapes_text_and_keeps_formulas():
    document = one_page(Block(kind="text", text=r"50 % of \(x_1\) & $y$"), Block(kind="formula", text="x"))
    assert formats.write(document, "latex") == "50 \\% of \\(x_1\\) \\& \\(y\\)\n\n\\[ x \\]"


def test_a_latex_document_has_sections_lists_and_tables():
    written = formats.write(ARTICLE, "latex")
    for part in (
        r"\section*{1 Swings}",
        r"\item long",
        r"\begin{enumerate}",
        r"length & period \\",
        r"\begin{verbatim}",
    ):
        assert part in written


def test_plain_text_writes_formulas_in_unicode_and_tables_with_tabs():
    written = formats.write(ARTICLE, "text")
    assert "T = 2π√(l/g)" in written
    assert "length\tperiod" in written
    assert "1. pull\n2. let go" in written


def test_plain_text_of_fields_is_a_line_for_each():
    assert formats.write(RECEIPT, "text") == "total: 5\nmenu.nm: Tea"


def test_plain_text_keeps_a_formula_it_cannot_express_among_other_text_but_not_alone():
    formula = Block(kind="formula", text=r"\put ( 1 , 2 )")
    assert r"\put" in formats.write(one_page(Block(kind="text", text="a"), formula), "text")
    with pytest.raises(NotationError, match=r"\\put"):
        formats.write(one_page(formula), "text")


def test_plain_text_is_read_by_paragraphs():
    assert [block.text for block in formats.parse("a\nb\n \nc\n\n\n", "text").blocks] == ["a\nb", "c"]


def test_html_is_well_formed_and_holds_every_text():
    page = ElementTree.fromstring(
        formats.write(ARTICLE, "html").replace('<meta charset="utf-8">', "").replace("<!DOCTYPE html>", "")
    )
    text = "".join(page.itertext())
    for block in ("1 Swings", "long", "let go", "2 | 2.006 s", "print(T)", "A clock.", "Notes"):
        assert block in text
    assert page.find(".//{http://www.w3.org/1998/Math/MathML}msqrt") is not None


def test_html_escapes_what_is_not_markup():
    written = formats.write(one_page(Block(kind="text", text="<script>alert(1)</script>")), "html")
    assert "<script>" not in written


def test_html_tables_have_spans():
    table = formats.parse("<otsl><ched>a<lcel><nl><fcel>b<fcel>c<nl></otsl>", "doctags")
    assert '<th colspan="2">a</th>' in formats.write(table, "html")


def test_typst_writes_documents():
    written = formats.write(ARTICLE, "typst")
    for part in ("= 1 Swings", "$ T = 2 pi sqrt(frac(l, g)) $", "- long", "+ pull", "#table(columns: 2,"):
        assert part in written


@pytest.mark.parametrize("notation", ["mathml", "sympy"])
def test_notations_of_formulas_refuse_text(notation: str):
    with pytest.raises(NotationError, match=r"formulas only, and this document also has: .*text"):
        formats.write(ARTICLE, notation)


@pytest.mark.parametrize("notation", ["html", "mathml", "typst", "sympy"])
def test_some_notations_are_only_written(notation: str):
    with pytest.raises(NotationError, match=f"{notation} can be written but not parsed"):
        formats.parse("x", notation)


def test_an_unknown_notation_suggests_a_near_one():
    with pytest.raises(NotationError, match="There is no notation called markdwon; did you mean markdown"):
        formats.write(ARTICLE, "markdwon")
    with pytest.raises(NotationError, match="there are latex, text"):
        formats.check_notation("???")


def test_a_block_of_markdown_is_written_as_it_is_and_taken_apart_for_others():
    document = one_page(Block(kind="markdown", text="# Title\n\n\\[ x ^ { 2 } \\]\n\ntext"))
    assert formats.write(document, "markdown") == document.blocks[0].text
    assert formats.write(document, "text") == "Title\n\nx²\n\ntext"
    assert "<section_header_level_1>Title" in formats.write(document, "doctags")


def test_nougat_formulas_and_tables_are_recognised():
    text = ("## 2 Results\n\\[a=b,\\qquad(1)\\] where it ends\n\\begin{table}\n\\begin{tabular}{l c} \\hline\n"
            "Name & \\multicolumn{2}{c}{Value} \\\\ \\hline\nx & 1 & 2 \\\\\n\\end{tabular}\n"
            "Table 1: Values.\n\\end{table}\nlast")  # fmt: skip
    heading, formula, tail, table, last = parse_blocks(text)
    assert (heading.level, heading.text) == (2, "2 Results")
    assert formula == Block(kind="formula", text="a=b,\\qquad(1)")
    assert (tail.text, last.text) == ("where it ends", "last")
    assert [[cell.text for cell in row] for row in grid(table)] == [["Name", "Value", ""], ["x", "1", "2"]]
    assert table.children[0] == Block(kind="caption", text="Table 1: Values.")


@pytest.mark.parametrize(
    "line", ["# no heading", "- no item", "3. no item", "| no table", "$$ no formula", "```", r"\[ no"]
)
def test_text_that_looks_like_the_beginning_of_a_block_stays_text(line: str):
    document = one_page(Block(kind="text", text=f"{line}\n{line}"))
    assert formats.parse(formats.write(document, "markdown"), "markdown") == document


@relaxed
@given(st.text(st.sampled_from("#-*1. |$`\\[]<>!{}ab\n&~"), max_size=40) | st.text())
@example("$$&$$")
def test_any_text_parses_as_markdown_and_can_be_written(text: str):
    document = formats.parse(text, "markdown")
    for notation in ("markdown", "text", "html", "latex", "doctags", "json"):
        try:
            assert isinstance(formats.write(document, notation) if document.blocks else "", str)
        except NotationError:  # a formula by itself that the notation cannot express says so
            assert [block.kind for block in document.blocks] == ["formula"]


@relaxed
@given(st.text(), st.sampled_from(formats.PARSED_NOTATIONS), st.sampled_from(formats.NOTATIONS))
def test_no_text_raises_anything_but_our_own_errors(text: str, source: str, target: str):
    with contextlib.suppress(UnrenderError):
        assert isinstance(formats.write(formats.parse(text, source), target), str)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["$$", "\\[", "# ", "- a\n", "|\n|-\n", "```\n", "\\begin{table}\n", "\\", "a\n\n", "1. \n", "![]()\n"]
)
def test_a_megabyte_of_hostile_markdown_takes_no_longer_than_its_length(piece: str):
    text = (piece * (HOSTILE // len(piece) + 1))[:HOSTILE]
    start = time.process_time()
    parse_blocks(text)
    assert time.process_time() - start < SECONDS


def test_a_receipt_as_text_has_a_line_for_each_good():
    fields = {
        "company": {"text": "ACME", "confidence": 0.9, "box": [0, 0, 1, 1]},
        "amount": 5.5,
        "phone": None,
        "tax": [{"rate": 7.0, "amount": 0.36}],
        "items": [
            {"description": "Tea", "quantity": 2.0, "price": 4.0},
            {"description": "Cake", "quantity": 1.0, "price": 1.5},
        ],
    }
    text = formats.write(one_page(Block(kind="fields", fields=fields)), "text")
    assert text.splitlines() == [
        "company: ACME",
        "amount: 5.50",
        "tax: 7 %, 0.36",
        "items: 2 x Tea, 4.00",
        "items: 1 x Cake, 1.50",
    ]
    for notation in ("markdown", "latex", "typst", "html"):
        written = formats.write(one_page(Block(kind="fields", fields=fields)), notation)
        assert ("2 x Tea, 4.00" in written, "items.price" in written) == (True, False), notation
