"""The formula corpora: arXiv TeX, TeX articles and the Im2Latex labels, normalised, split, without doubles or leaks.

Held out is the tenth of the official validation formulas whose hash says so: the same formulas in the printed and in
the handwritten set, so that neither leaks into the other.
"""

import hashlib
import json
import lzma
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unrender import latex
from unrender.checkpoints import resolve
from unrender.errors import DataError, LatexError
from unrender.latex.commands import SPACES
from unrender.tokens import LatexTokenizer, read_list

MAX_TOKENS = 150  # seed 004, 5.2
_HELD_OUT_SHARE = 10  # one in ten
_VALIDATION_PAPERS = 50  # one in fifty
_MATH = re.compile(
    r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|(?<!\\)\$(.+?)(?<!\\)\$"
    r"|\\begin\{(?:equation|displaymath|math)\*?\}(.+?)\\end\{(?:equation|displaymath|math)\*?\}"
    r"|\\begin\{(align|gather|eqnarray|multline)\*?\}(.+?)\\end\{(?:align|gather|eqnarray|multline)\*?\}",
    re.DOTALL,
)
_COMMENT = re.compile(r"(?<!\\)%.*")
_GATHERED = {"align": "aligned", "gather": "gathered", "eqnarray": "eqnarray", "multline": "gathered"}
_MOST_CHARACTERS = 400


@dataclass(frozen=True)
class Formula:
    """One normalised formula and the paper it comes from."""

    text: str
    paper: int
    display: bool
    drawn: str = ""  # what is typeset, where that is not `text`


def visible(text: str) -> str:
    """Return the tokens of a canonical formula that leave ink or structure, for comparing formulas."""
    return " ".join(token for token in text.split() if token not in SPACES)


def is_held_out(label: str) -> bool:
    """Whether an official validation formula belongs to the tenth that no model is trained on."""
    return int(hashlib.sha256(visible(label).encode()).hexdigest(), 16) % _HELD_OUT_SHARE == 0


def is_validation_paper(paper: int) -> bool:
    """Whether a paper's formulas are for measuring, not for training; papers go by their hash."""
    return paper % _VALIDATION_PAPERS == 0


def read_arxiv(path: Path, *, leaks: frozenset[str]) -> Iterator[Formula]:
    """Normalise the harvested formulas; drop what cannot be parsed, repeats, and what `leaks` holds."""
    seen: set[bytes] = set()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            paper, kind, text = line.rstrip("\n").split("\t")
            try:
                canonical = latex.normalise(text, unify=True)
            except LatexError:
                continue
            key = visible(canonical)
            digest = hashlib.sha1(key.encode()).digest()
            if not key or digest in seen or key in leaks or len(canonical.split()) > MAX_TOKENS:
                continue
            seen.add(digest)
            yield Formula(canonical, paper_hash(paper), kind == "display")


def settle(text: str, tokenizer: LatexTokenizer) -> str | None:
    """Return the label of a formula; None when it cannot be parsed, is too long or has tokens beyond the vocabulary."""
    try:
        label = latex.normalise(text, unify=True)
    except LatexError:
        return None
    return None if not visible(label) or len(label.split()) > MAX_TOKENS or tokenizer.unknown(label) else label


def vocabulary() -> list[str]:
    """Return the tokens of the formula reader: those of the embedded model first, so that its weights still fit."""
    known = read_list(resolve("formula") / "tokenizer.json")
    return [*known, *(token for token in RARE if token not in known)]


# What people write and the labels of Im2Latex do not have; the weights of these begin afresh.
RARE = tuple(
    """\\iiint \\angle \\measuredangle \\nexists \\rightleftharpoons \\leftrightharpoons \\xrightarrow \\xleftarrow
    \\coprod \\boxed \\cancel \\sqcap \\Longleftarrow \\Leftarrow \\leftharpoonup \\rightharpoondown \\ltimes
    \\rtimes \\therefore \\because \\complement \\subsetneq \\nsubseteq \\supsetneq \\nmid \\nparallel \\mathring
    \\# \\$ \\varkappa \\leadsto \\rightsquigarrow \\twoheadrightarrow \\hookleftarrow \\longleftarrow \\Uparrow
    \\Downarrow \\updownarrow \\overleftrightarrow \\dddot \\vDash \\Vdash \\dashv \\trianglelefteq \\triangleleft
    \\boxtimes \\boxplus \\blacksquare \\checkmark \\bowtie \\amalg \\uplus \\wr \\diamondsuit \\heartsuit
    \\spadesuit \\clubsuit \\lll \\ggg \\approxeq \\circledast \\curvearrowright \\upharpoonright \\P \\swarrow
    \\nwarrow \\Updownarrow \\left\\uparrow \\right\\downarrow \\ngeq \\nleq \\lneq \\gneq \\sqsubseteq \\sqsupseteq
    \\smile \\frown \\bigstar \\lozenge \\gimel \\beth \\rightrightarrows
    \\div \\leqq \\geqq""".split()
)


def save_corpus(path: Path, formulas: Iterable[Formula]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for formula in formulas:
            lines.write(json.dumps([formula.text, formula.paper, formula.display]) + "\n")


def load_corpus(path: Path) -> list[Formula]:
    with path.open(encoding="utf-8") as lines:
        return [Formula(*json.loads(line)) for line in lines]


def paper_hash(name: str) -> int:
    """Return the number by which a paper is assigned to training or to validation."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


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


def open_corpus(source: Path, folder: Path, labels: Sequence[str]) -> list[Formula]:
    """Normalise the arXiv formulas and settle the vocabulary, once: ids must not change under a running training."""
    path = folder / "arxiv.jsonl"
    if not path.exists():
        leaks = frozenset(visible(unify(label) or label) for label in labels)
        formulas = list(read_arxiv(_unpacked(source, folder), leaks=leaks))
        tokenizer = LatexTokenizer(vocabulary())
        kept = [formula for formula in formulas if not tokenizer.unknown(formula.text)]
        order = np.random.default_rng(0).permutation(len(kept))
        tokenizer.save(folder / "tokenizer.json")
        save_corpus(path, (kept[index] for index in order))
    return load_corpus(path)


def _unpacked(source: Path, folder: Path) -> Path:
    plain, packed = source / "arxiv-formulas.tsv", source / "arxiv-formulas.tsv.xz"
    if plain.exists():
        return plain
    if not packed.exists():
        raise DataError(f"{source} has no arxiv-formulas.tsv or arxiv-formulas.tsv.xz")
    target = folder / "arxiv-formulas.tsv"
    with lzma.open(packed) as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing)
    return target


def is_learnable(label: str, tokenizer: LatexTokenizer) -> bool:
    """Say whether a label may be trained on, and can be written."""
    return not is_held_out(label) and not tokenizer.unknown(label) and len(label.split()) <= MAX_TOKENS


def stands_alone(token: str) -> bool:
    """Say whether a token is a formula by itself, and the usual name of what it shows."""
    return unify(token) == token


def unify(label: str) -> str | None:
    """Bring a label to one spelling; None where it is not LaTeX."""
    try:
        return latex.normalise(label, unify=True)
    except LatexError:
        return None
