"""Formulas out of TeX articles: what stands between dollars and in display environments, author macros left out."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unrender.tokens import LatexTokenizer
from unrender.training.formula.labels import Formula, is_validation_paper, paper_hash, settle

_MATH = re.compile(
    r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|(?<!\\)\$(.+?)(?<!\\)\$"
    r"|\\begin\{(?:equation|displaymath|math)\*?\}(.+?)\\end\{(?:equation|displaymath|math)\*?\}"
    r"|\\begin\{(align|gather|eqnarray|multline)\*?\}(.+?)\\end\{(?:align|gather|eqnarray|multline)\*?\}",
    re.DOTALL,
)
_COMMENT = re.compile(r"(?<!\\)%.*")
_GATHERED = {"align": "aligned", "gather": "gathered", "eqnarray": "eqnarray", "multline": "gathered"}
_MOST_CHARACTERS = 400


def read_articles(folder: Path, tokenizer: LatexTokenizer) -> Iterator[Formula]:
    """Yield the formulas that the vocabulary can write, each once, shuffled; one article in fifty is held out."""
    seen: set[str] = set()
    kept: list[Formula] = []
    for article, text, display in read_formulas(folder):
        label = settle(text, tokenizer)
        if label is not None and label not in seen and not is_validation_paper(paper_hash(article)):
            seen.add(label)
            kept.append(Formula(label, paper_hash(article), display, drawn=text if "begin{array}" in label else ""))
    yield from (kept[index] for index in np.random.default_rng(0).permutation(len(kept)))


def read_formulas(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield article, formula and whether it is displayed, for every .tex file under a folder."""
    for path in sorted(folder.rglob("*.tex")):
        text = path.read_text(encoding="utf-8", errors="replace")
        _, _, body = text.partition("\\begin{document}")
        for match in _MATH.finditer(_COMMENT.sub("", body or text)):
            dollars, brackets, inline, equation, name, lines = match.groups()
            if name is not None:
                formula = f"\\begin{{{_GATHERED[name]}}} {lines} \\end{{{_GATHERED[name]}}}"
            else:
                formula = dollars or brackets or inline or equation
            formula = " ".join(formula.split()).rstrip(" .,;")
            if formula and len(formula) <= _MOST_CHARACTERS:
                yield path.stem, formula, inline is None
