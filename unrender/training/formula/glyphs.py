"""What each glyph of TeX shows and where its ink lies; glyphs that are parts of one sign are joined."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unrender.typesetting import DVI, Style, compile_formulas, fast_folder
from unrender.typesetting.dvi import Box, Key, Layout, PlacedGlyph, Rule, read_dvi

ROOT = r"\sqrt"
LARGE = "cmex"  # the family of signs that grow
_ROOTS = frozenset({("cmsy", 112), *((LARGE, code) for code in range(112, 116))})
_PARTS = {48: "(", 64: "(", 66: "", 49: ")", 65: ")", 67: "", 54: "", 55: "", 62: "", 58: "", 59: "", 56: r"\{",
          60: r"\{", 57: r"\}", 61: r"\}", 12: "|", 13: r"\|", 50: r"\lceil", 52: r"\lfloor", 51: r"\rceil",
          53: r"\rfloor", 116: ROOT, 117: "", 118: ""}  # fmt: skip  # of signs that grow without end
_WHOLE = {frozenset({r"\lceil", r"\lfloor"}): "[", frozenset({r"\rceil", r"\rfloor"}): "]"}
_GROWING = (*r"( ) [ ] | / \{ \} \| \langle \rangle \lfloor \rfloor \lceil \rceil \backslash".split(),)
_BIG = (r"\big", r"\Big", r"\bigg", r"\Bigg")
_ALSO = {r"\bar{}": "-", r"\tilde{}": r"\sim", r"\vec{}": r"\rightarrow", r"\dot{}": ".", r"\hat{}": r"\hat{}",
         r"\check{}": r"\check{}", r"\ddot{}": r"\ddot{}", r"\widehat{a}": r"\hat{}", r"\widehat{ab}": r"\hat{}",
         r"\widehat{abc}": r"\hat{}", r"\widetilde{a}": r"\sim", r"\widetilde{ab}": r"\sim",
         r"\widetilde{abc}": r"\sim", r"\not": "/", r"\mbox{.}": ".", r"\mbox{,}": ",", ":": ":", "*": r"\ast",
         r"\acute{}": "/", r"\mapstochar": "|", r"\grave{}": r"\backslash"}  # fmt: skip  # form, and what is written
_EM = 1000  # points at which glyphs are measured
_UNITS = 64  # FreeType's, to a point
_NEAR = 1.5  # pixels between a root and its bar
_DPI = 100.0


@dataclass(frozen=True)
class Shape:
    """What a glyph shows, and the box of its ink in units of the font's size, from its origin."""

    name: str
    box: Box


Shapes = Mapping[Key, Shape]


@dataclass(frozen=True)
class Piece:
    """Something to be written in one go: a glyph, a sign of several parts, a root with its bar, or a bar."""

    name: str
    box: Box
    size: float  # of the font
    stretched: bool = False  # its box must be filled
    glyphs: tuple[int, ...] = ()
    rules: tuple[int, ...] = ()
    corner: float = 0.0  # where a root's bar begins


def read_shapes(names: Sequence[str]) -> dict[Key, Shape]:
    """Let TeX set every symbol by itself, and note which glyph it takes for it."""
    forms: dict[str, str] = {name: name for name in names if name != ROOT}
    forms |= {rf"\mathrm{{{name}}}": name for name in names if len(name) == 1 and name.isalnum()}
    forms |= {f"{big}{name}": name for name in _GROWING for big in _BIG}
    forms |= _ALSO
    shapes: dict[Key, Shape] = {}
    for display in (False, True):
        for form, found in _measure(list(forms), Style(display=display)).items():
            shapes.setdefault(found[0], Shape(forms[form], found[1]))
    return shapes


def cut(layout: Layout, shapes: Shapes) -> list[Piece] | None:
    """Cut a layout into what is written one after the other; None when a glyph is not known."""
    pieces: list[Piece] = []
    free = set(range(len(layout.rules)))
    index = 0
    while index < len(layout.glyphs):
        count = _parts(layout.glyphs[index:])
        piece = _joined(layout, index, count) if count else _single(layout.glyphs[index], index, shapes)
        if piece is None:
            return None
        if piece.name == ROOT:
            piece = _with_bar(piece, layout.rules, free)
            free -= set(piece.rules)
        pieces.append(piece)
        index += max(1, count)
    size = max((piece.size for piece in pieces), default=1.0)
    return pieces + [_bar(layout.rules[number], number, size) for number in sorted(free)]


def _measure(forms: Sequence[str], style: Style) -> dict[str, tuple[Key, Box]]:
    """Return the glyph of each form that compiles to one alone, with the box of its ink."""
    from matplotlib.dviread import Dvi
    from matplotlib.ft2font import FT2Font

    found: dict[str, tuple[Key, Box]] = {}
    with tempfile.TemporaryDirectory(prefix="unrender-tex-", dir=fast_folder()) as folder:
        good = compile_formulas(forms, style, Path(folder))
        compiled = [form for form, fine in zip(forms, good, strict=True) if fine]
        layouts = read_dvi(Path(folder) / DVI, _DPI)
        with Dvi(str(Path(folder) / DVI), _DPI) as dvi:
            for form, layout, page in zip(compiled, layouts, dvi, strict=True):
                glyphs = _accents(form, layout)
                if len(glyphs) != 1 or layout.rules:
                    continue
                text = page.text[glyphs[0]]
                try:
                    font = FT2Font(str(text.font_path))
                except RuntimeError:  # a font of bitmaps has no outlines to measure
                    continue
                font.set_size(_EM, 72)
                left, bottom, right, top = (side / (_EM * _UNITS) for side in font.load_glyph(text.index).bbox)
                found[form] = layout.glyphs[glyphs[0]].key, (left, -top, right, -bottom)
    return found


def _accents(form: str, layout: Layout) -> list[int]:
    """Return the glyphs of a form without those that only carry a wide accent."""
    if not form.startswith(r"\wide"):
        return list(range(len(layout.glyphs)))
    return [index for index, glyph in enumerate(layout.glyphs) if glyph.key[0] == LARGE]


def _parts(glyphs: Sequence[PlacedGlyph]) -> int:
    """Count the first glyphs that are parts of one growing sign, one below the other."""
    first = glyphs[0]
    count = 0
    for glyph in glyphs:
        if glyph.key[0] != LARGE or glyph.key[1] not in _PARTS or abs(glyph.x - first.x) > _NEAR:
            break
        count += 1
    return count


def _joined(layout: Layout, start: int, count: int) -> Piece | None:
    glyphs = layout.glyphs[start : start + count]
    names = frozenset(name for glyph in glyphs if (name := _PARTS[glyph.key[1]]))
    name = _WHOLE.get(names, next(iter(names)) if len(names) == 1 else "")
    if not name:
        return None
    box = Layout(glyphs, ()).bounds()
    return Piece(name, box, glyphs[0].size, stretched=True, glyphs=tuple(range(start, start + count)))


def _single(glyph: PlacedGlyph, index: int, shapes: Shapes) -> Piece | None:
    if glyph.key in _ROOTS:
        return Piece(ROOT, glyph.box, glyph.size, stretched=True, glyphs=(index,))
    shape = shapes.get(glyph.key)
    if shape is None:
        return None
    left, top, right, bottom = (side * glyph.size for side in shape.box)
    box = glyph.x + left, glyph.y + top, glyph.x + right, glyph.y + bottom
    grown = glyph.key[0] == LARGE and shape.name in _GROWING
    return Piece(shape.name, box, glyph.size, stretched=grown, glyphs=(index,))


def _with_bar(root: Piece, rules: Sequence[Rule], free: set[int]) -> Piece:
    """Join a root sign with the bar that begins where it ends; without one, it keeps a short bar of its own."""
    left, top, right, bottom = root.box
    near = [n for n in free if abs(rules[n].x - right) < _NEAR and abs(rules[n].y - top) < 2 * _NEAR]
    end = max((rules[number].x + rules[number].width for number in near[:1]), default=right + root.size / 2)
    return Piece(ROOT, (left, top, end, bottom), root.size, True, root.glyphs, tuple(near[:1]), corner=right)


def _bar(rule: Rule, number: int, size: float) -> Piece:
    return Piece("-" if rule.width >= rule.height else "|", rule.box, size, stretched=True, rules=(number,))
