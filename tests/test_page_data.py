"""Pages typeset with a real TeX: every character's box, the Markdown, the order; skipped where TeX is missing."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unrender.formats.marked import DISPLAY, MATH, character_of
from unrender.training.data import Cache, CacheWriter
from unrender.training.page.alignment import SOFT_HYPHEN
from unrender.training.page.compilation import compile_papers
from unrender.training.page.corpora import make_tokenizer
from unrender.training.page.layouts import KINDS, Layouts, LayoutWriter, make_layout
from unrender.training.page.manuscript import Block, Kind, Paper
from unrender.training.page.prose import NOTE, Atom, parse_formula, parse_prose, plain_atoms
from unrender.training.page.rasters import PLACED, Warp, draw_pages, in_pixels, scan
from unrender.training.page.recovery import Page, assemble
from unrender.training.page.samples import LINES, cut_samples, label_of
from unrender.training.page.styles import Style
from unrender.training.page.whole_pages import page_markdown

pytestmark = pytest.mark.skipif(
    shutil.which("latex") is None or shutil.which("dvipng") is None, reason="latex or dvipng is missing"
)
DPI = 200.0
SENTENCE = (
    r"The efficient characterisation of $x_i + \frac{a}{b}$ in \emph{fifty} well-known documentations is office "
    r"work ``as usual'', says Erd\H{o}s, who finds \textbf{na\"ive} approaches $\alpha$-admissible. "
)


@dataclass(frozen=True)
class Typeset:
    """The pages of a small document with their pictures."""

    pages: list[Page]
    pictures: list[np.ndarray]


def typeset(folder: Path, style: Style, *blocks: Block, papers: Sequence[Paper] = ()) -> Typeset:
    chosen = [Paper("one", 7, blocks, header=plain_atoms("A running head"))] if blocks else list(papers)
    [compiled] = compile_papers(chosen, style, folder)
    pages = assemble(compiled, [paper.group for paper in chosen])
    drawn = list(draw_pages(compiled.dvi, pages, DPI, np.random.default_rng(0)))
    return Typeset(pages, [picture for _, picture in drawn])


def as_text(tokens: Sequence[str]) -> str:
    """Write tokens as a person would read them, formulas between dollars."""
    pieces: list[str] = []
    inside = False
    for token in tokens:
        if token in (*MATH, *DISPLAY):
            inside = token in (MATH[0], DISPLAY[0])
            pieces.append("$")
        else:
            pieces.append(token + " " if inside else character_of(token))
    return "".join(pieces)


def paragraph(count: int) -> Block:
    return Block(kind=Kind.TEXT, atoms=parse_prose(SENTENCE * count))


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Typeset:
    note = Block(kind=Kind.FOOTNOTE, atoms=(Atom(text="1", style=NOTE), *plain_atoms("A note.")))
    noted = (*plain_atoms("Text with a note"), Atom(text="1", style=NOTE, glued=True, note=0), *plain_atoms("inside."))
    cells = [
        Atom(text=text, row=place // 2, column=place % 2) for place, text in enumerate(["Name", "Size", "a", "10"])
    ]
    figure = Block(kind=Kind.CAPTION, atoms=plain_atoms("Figure 1: A plot."))
    return typeset(
        tmp_path_factory.mktemp("everything"),
        Style(header=True, points=10),
        Block(kind=Kind.TITLE, atoms=plain_atoms("Of Things"), wide=True),
        Block(kind=Kind.HEADING, level=1, atoms=plain_atoms("1 Introduction")),
        paragraph(2),
        Block(
            kind=Kind.FORMULA,
            atoms=(Atom(tokens=parse_formula(r"\sum_{i=1}^{n} x_i = \sqrt{y}")), Atom(text="(3)")),
        ),
        Block(kind=Kind.ITEM, atoms=(Atom(text="•"), *plain_atoms("first item"))),
        Block(kind=Kind.ITEM, atoms=(Atom(text="•"), *plain_atoms("second item"))),
        Block(
            kind=Kind.CODE,
            atoms=(Atom(text="if x--y:", style="mono"), Atom(text="    return {z}", style="mono", row=1)),
        ),
        Block(kind=Kind.TABLE, atoms=tuple(cells)),
        Block(kind=Kind.FIGURE, height=60.0, width=0.5, parts=(figure,)),
        Block(kind=Kind.TEXT, atoms=noted, notes=(note,)),
    )


def test_every_box_lies_on_ink(everything: Typeset) -> None:
    [page], [picture] = everything.pages, everything.pictures
    assert page.doubtful == 0
    for piece in page.pieces:
        for line in piece.lines:
            for part in line.parts:
                for sign in part.signs:
                    if sign.box is not None:
                        left, top, right, bottom = in_pixels(sign.box, DPI)
                        assert (picture[top - 1 : bottom + 1, left - 1 : right + 1] < 200).any(), sign


def test_all_ink_lies_in_the_boxes_of_blocks(everything: Typeset) -> None:
    [page], picture = everything.pages, everything.pictures[0].copy()
    for piece in page.pieces:
        left, top, right, bottom = in_pixels(piece.box, DPI)
        picture[top - 3 : bottom + 4, left - 4 : right + 5] = 255
    rows = np.flatnonzero((picture < 128).any(axis=1))
    assert len(rows) <= 3  # the line above the footnotes


def test_the_markdown_is_what_stands_on_the_page(everything: Typeset) -> None:
    markdown = page_markdown(everything.pages[0])
    prose = (
        r"The efficient characterisation of $x_i + \frac{a}{b}$ in *fifty* well-known documentations is "
        r"office work “as usual”, says Erdős, who finds **naïve** approaches $\alpha$-admissible."
    )
    expected = [
        "<!-- page_header: A running head -->",
        "# Of Things",
        "## 1 Introduction",
        f"{prose} {prose}",
        "$$\n\\sum_{i=1}^n x_i = \\sqrt{y} \\tag{3}\n$$",
        "- first item\n- second item",
        "```\nif x--y:\n    return {z}\n```",
        "| Name | Size |\n| --- | --- |\n| a | 10 |",
        "![Figure 1: A plot.]()",
        "Text with a note[^1] inside.",
        "[^1]: A note.",
        "<!-- page_footer: 8 -->",
    ]
    assert markdown.strip().split("\n\n") == expected


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    blocks = [
        Block(kind=Kind.TEXT, atoms=plain_atoms(f"Number{number} " + "and more words " * 40)) for number in range(14)
    ]
    made = typeset(tmp_path, Style(columns=2, margin=50.0), *blocks)
    for page in made.pages:
        texts = [piece for piece in page.pieces if piece.block.kind == Kind.TEXT]
        columns = [piece.column for piece in texts]
        assert columns == sorted(columns)
        assert all(piece.box[2] < page.style.width / 2 for piece in texts if piece.column == 0)
    words = " ".join(page_markdown(page) for page in made.pages).split()
    starts = [word for word in words if word.startswith("Number")]
    assert starts == [f"Number{number}" for number in range(14)]


def test_a_paragraph_goes_on_over_columns_and_pages_even_inside_a_word(tmp_path: Path) -> None:
    text = " ".join(["characteristically", "incomprehensibilities"] * 450)
    made = typeset(
        tmp_path, Style(columns=2, margin=60.0, folio="none"), Block(kind=Kind.TEXT, atoms=plain_atoms(text))
    )
    pieces = [piece for page in made.pages for piece in page.pieces if piece.block.kind == Kind.TEXT]
    assert len(made.pages) > 1
    assert [piece.continued for piece in pieces] == [False] + [True] * (len(pieces) - 1)
    assert [piece.continues for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert sum(page.doubtful for page in made.pages) == 0
    read = ""
    for line in (line for piece in pieces for line in piece.lines):
        printed = as_text(label_of(pieces[0], [line]).tokens)
        read = read.removesuffix(SOFT_HYPHEN) + ("" if read.endswith(SOFT_HYPHEN) or not read else " ") + printed
    assert read == text


def test_hyphens_of_tex_are_marked_and_those_of_the_author_stay(tmp_path: Path) -> None:
    text = "well-known characteristics " * 60
    made = typeset(tmp_path, Style(columns=2, margin=60.0), Block(kind=Kind.TEXT, atoms=plain_atoms(text)))
    [piece] = [piece for piece in made.pages[0].pieces if piece.block.kind == Kind.TEXT]
    ends = [label_of(piece, [line]).tokens[-1] for line in piece.lines]
    assert SOFT_HYPHEN in ends
    assert " ".join(text.split()) in page_markdown(made.pages[0])


@pytest.mark.parametrize("font", ["times", "palatino"])
def test_other_fonts_are_understood_too(font: str, tmp_path: Path) -> None:
    made = typeset(tmp_path, Style(font=font), paragraph(3))
    assert sum(page.doubtful for page in made.pages) == 0


def test_what_does_not_compile_or_does_not_fit_is_dropped_and_the_rest_is_kept(tmp_path: Path) -> None:
    wide = parse_formula("+".join(["x"] * 150))
    bad = Block(kind=Kind.TEXT, atoms=(Atom(tokens=(r"\frac", "{", "a")),))
    papers = [
        Paper("one", 1, (Block(kind=Kind.TEXT, atoms=plain_atoms("kept")), bad)),
        Paper(
            "two",
            2,
            (Block(kind=Kind.FORMULA, atoms=(Atom(tokens=wide),)), Block(kind=Kind.TEXT, atoms=plain_atoms("too"))),
        ),
    ]
    made = typeset(tmp_path, Style(), papers=papers)
    assert [page.group for page in made.pages] == [1, 2]
    texts = [
        [piece.block.kind for piece in page.pieces if piece.block.kind in (Kind.TEXT, Kind.FORMULA)]
        for page in made.pages
    ]
    assert texts == [[Kind.TEXT], [Kind.TEXT]]


def test_lines_are_stored_with_tokens_and_boxes(everything: Typeset, tmp_path: Path) -> None:
    tokenizer, page = make_tokenizer(), everything.pages[0]
    samples = list(cut_samples(page, everything.pictures[0], DPI, tokenizer, np.random.default_rng(0)))
    writer = CacheWriter(tmp_path, tokenizer.tokens)
    for name, sample in samples:
        if name == LINES:
            writer.add(sample)
    writer.close()
    cache = Cache(tmp_path)
    texts = [as_text(cache.text(number).split(" ")) for number in range(len(cache))]
    assert "<h2>1 Introduction" in texts
    assert r"$\sum _ { i = 1 } ^ { n } x _ { i } = \sqrt { y } $ (3)" in texts
    assert "Name<cell>Size" in texts
    for number in range(len(cache)):
        gray, boxes = cache.gray(number), cache.boxes(number)
        assert boxes[:, [0, 2]].max() <= gray.shape[1]
        assert boxes[:, [1, 3]].max() <= gray.shape[0]
        for token, (left, top, right, bottom) in zip(cache.text(number).split(" "), boxes.tolist(), strict=True):
            if left >= 0 and token != "␣":
                assert (gray[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] < 230).any(), token


def test_the_vocabulary_keeps_the_ids_of_formulas() -> None:
    from unrender.checkpoints import resolve
    from unrender.tokens import read_list

    formulas = read_list(resolve("formula") / "tokenizer.json")
    assert list(make_tokenizer().tokens[: len(formulas)]) == formulas


def test_layouts_label_cells_and_follow_a_scan(everything: Typeset, tmp_path: Path) -> None:
    page, picture = everything.pages[0], everything.pictures[0]
    straight = make_layout(page, picture, Warp.at(DPI))
    [footnote] = [block for block in straight.blocks if block.kind == "footnote"]
    unlabelled = np.flatnonzero(((straight.gray < 200) & (straight.labels == 0)).any(axis=1))
    assert all(footnote.box[1] - 3 < row < footnote.box[1] for row in unlabelled)  # the line above the footnotes
    kinds = {KINDS[label] for label in np.unique(straight.labels)}
    assert {"text", "heading", "display formula", "table", "figure", "caption", "header", "footnote", "code"} <= kinds
    moved, warp = scan(picture, Warp.at(DPI), DPI, PLACED, np.random.default_rng(5))
    skewed = make_layout(page, moved, warp)
    writer = LayoutWriter(tmp_path)
    writer.add(straight)
    writer.add(skewed)
    writer.close()
    read = Layouts(tmp_path)[1]
    assert np.array_equal(read.labels, skewed.labels)
    assert [block.kind for block in read.blocks] == [block.kind for block in straight.blocks]
    background = np.median(read.gray[read.labels == 0])
    assert read.gray[read.labels == KINDS.index("text")].mean() < background - 15
