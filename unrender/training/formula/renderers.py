"""Formulas drawn by the programs people take their pictures from: KaTeX, a browser's MathML, matplotlib, ziamath.

Each renderer takes LaTeX and gives gray pictures (dark on white), None where it cannot draw the formula. KaTeX comes
from npm (`npm install katex` in the folder given), Chromium from Debian, ziamath from `pip install ziamath`, and the
fonts of mathematics from Debian's texlive-fonts-extra.
"""

import io
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from unrender.errors import MissingExtraError, UnrenderError
from unrender.formats.formulas.mathml import formula_to_mathml
from unrender.training.data import Gray
from unrender.typesetting.pictures import crop_to_ink

if TYPE_CHECKING:
    from playwright.sync_api import Page

Draw = Callable[[Sequence[str], np.random.Generator], list[Gray | None]]
# Fonts that training may see; those of HELD_FONTS are for measuring only.
MATH_FONTS = (
    "latinmodern-math.otf",
    "STIXTwoMath-Regular.otf",
    "FiraMath-Regular.otf",
    "XCharter-Math.otf",
    "KpMath-Regular.otf",
    "GFSNeohellenicMath.otf",
    "texgyrepagella-math.otf",
    "texgyrebonum-math.otf",
    "texgyreschola-math.otf",
    "texgyredejavu-math.otf",
    "Garamond-Math.otf",
    "Euler-Math.otf",
    "Concrete-Math.otf",
    "XITSMath-Regular.otf",
    "KpMath-Sans.otf",
)
MATHJAX_FONTS = ("tex", "modern")
HELD_FONTS = ("LibertinusMath-Regular.otf", "Erewhon-Math.otf")
_MATPLOTLIB_FONTS = ("dejavusans", "dejavusans", "dejavuserif", "cm", "stix", "stixsans")
_IN_MATHTEXT = (
    ("\\operatorname*", "\\operatorname"),
    ("\\cal ", "\\mathcal "),
    ("~", "\\ "),
    ("_ {", "_{"),  # with the space, scripts stand on the line
    ("^ {", "^{"),
)
_CHROMIUM = "/usr/bin/chromium"
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
_PAGE_WIDTH = 1800
_SHRUNK = 2  # matplotlib and ziamath draw larger and are reduced
_WRITE = """
([formulas, size]) => { for (const [kind, text] of formulas) {
  const cell = document.createElement('div');
  cell.style.cssText = `display:inline-block;padding:8px;margin:4px;font-size:${size}px;vertical-align:top`;
  document.body.appendChild(cell);
  try {
    if (kind === 'katex') katex.render(text, cell, {displayMode: true, strict: false, output: 'html'});
    else cell.innerHTML = text;
  } catch (error) { cell.replaceChildren(); }
} }
"""
_FIND = """
() => [...document.body.children].map((cell) => cell.getBoundingClientRect())
  .map((box) => [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY])
"""


@dataclass(frozen=True)
class Browser:
    """Chromium with KaTeX and the fonts of mathematics; `fonts` are the MathML fonts it draws with."""

    page: "Page"
    fonts: tuple[str, ...]
    scale: float

    def draw(
        self, formulas: Sequence[str], rng: np.random.Generator, *, katex: bool | None = None
    ) -> list[Gray | None]:
        """Draw all formulas on one web page, by KaTeX or as MathML in one font; None leaves that to chance."""
        font = f"math{int(rng.integers(len(self.fonts)))}"
        katex = bool(rng.random() < 0.5) if katex is None else katex
        wanted = [_for_browser(formula, katex) for formula in formulas]
        self.page.evaluate("() => { document.body.replaceChildren() }")
        self.page.evaluate(f"() => {{ document.body.style.fontFamily = {json.dumps(font)} }}")
        drawable = [item for item in wanted if item is not None]
        self.page.evaluate(_WRITE, [drawable, float(rng.uniform(14, 30))])
        self.page.evaluate("() => document.body.offsetHeight && document.fonts.ready.then(() => true)")
        boxes = iter(self.page.evaluate(_FIND))
        shot = Image.open(io.BytesIO(self.page.screenshot(full_page=True))).convert("L")
        gray = np.asarray(shot)
        return [None if item is None else _cut(gray, next(boxes), self.scale) for item in wanted]


@contextmanager
def open_browser(katex: Path, *, fonts: Sequence[str] = MATH_FONTS, scale: float = 2.0) -> Iterator[Browser]:
    """Start Chromium; `katex` is the folder node_modules/katex."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise MissingExtraError("drawing in a browser needs playwright: pip install playwright") from error
    found = [path for path in map(find_font, fonts) if path is not None]
    faces = "".join(
        f"@font-face{{font-family:math{number};src:url('file://{path}')}}" for number, path in enumerate(found)
    )
    head = f"<style>{faces} math{{font-family:inherit}} body{{margin:0;background:white;width:{_PAGE_WIDTH}px}}</style>"
    links = f"<link rel=stylesheet href='file://{katex}/dist/katex.min.css'><script src='file://{katex}/dist/katex.min.js'></script>"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": _PAGE_WIDTH, "height": 800}, device_scale_factor=scale)
        start = Path(folder) / "page.html"
        start.write_text(f"<!doctype html><meta charset=utf-8>{links}{head}<body></body>")
        page.goto(f"file://{start}")
        yield Browser(page, tuple(str(path) for path in found), scale)
        browser.close()


@contextmanager
def renderer(name: str, node: Path) -> Iterator[Draw]:
    """Open what draws the set of that name: "browser", "mathjax" or "plots"; `node` is where npm installs."""
    if name == "plots":
        yield draw_with_matplotlib
        return
    if name == "mathjax":
        yield lambda formulas, rng: draw_with_mathjax(formulas, str(rng.choice(MATHJAX_FONTS)), node)
        return
    katex = node / "node_modules" / "katex"
    if not katex.exists():
        raise MissingExtraError(f"drawing with KaTeX needs it in {node}: npm install --prefix {node} katex")
    with open_browser(katex, scale=1.5) as browser:
        yield browser.draw


def find_font(name: str) -> Path | None:
    """Return where TeX keeps a font, or None."""
    found = subprocess.run(["kpsewhich", name], capture_output=True, text=True).stdout.strip()
    return Path(found) if found else None


def draw_with_matplotlib(formulas: Sequence[str], rng: np.random.Generator) -> list[Gray | None]:
    """Draw with matplotlib's own mathtext, which knows a part of LaTeX."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"mathtext.fontset": str(rng.choice(_MATPLOTLIB_FONTS))}):
        size = float(rng.uniform(10, 16))

        def draw(formula: str) -> Gray | None:
            figure = Figure(figsize=(12, 3), dpi=100 * _SHRUNK)
            canvas = FigureCanvasAgg(figure)
            figure.text(0.02, 0.5, f"${formula}$", fontsize=size)
            try:
                canvas.draw()  # type: ignore[no-untyped-call]
            except (ValueError, RuntimeError, UnicodeError):
                return None
            drawn = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            return crop_to_ink(np.asarray(Image.fromarray(drawn).convert("L")))

        return [None if (simple := _for_matplotlib(formula)) is None else draw(simple) for formula in formulas]


def draw_with_mathjax(formulas: Sequence[str], font: str, node: Path) -> list[Gray | None]:
    """Draw with MathJax in one of its fonts; `node` is where npm installed it and @resvg/resvg-js."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.png" for number in range(len(formulas))]
        subprocess.run(
            ["node", str(Path(__file__).with_name("mathjax.cjs")), font],
            input=json.dumps([[formula, str(path)] for formula, path in zip(formulas, paths, strict=True)]),
            text=True,
            cwd=node,
            env={**os.environ, "NODE_PATH": str(node / "node_modules")},
            stderr=subprocess.DEVNULL,  # a line for each formula that it cannot draw
            check=True,
        )
        return [np.asarray(Image.open(path).convert("L")) if path.exists() else None for path in paths]


def _for_browser(formula: str, katex: bool) -> tuple[str, str] | None:
    if katex:
        return "katex", formula.replace("\\boldmath", "").replace("\\mit", "")
    try:
        return "mathml", formula_to_mathml(formula)
    except UnrenderError:
        return None


def _for_matplotlib(formula: str) -> str | None:
    """Respell what mathtext calls otherwise; None for what it cannot set."""
    if any(
        name in formula for name in ("\\begin", "\\\\", "\\atop", "\\fbox", "\\underbrace", "\\overbrace", "\\stackrel")
    ):
        return None
    for ours, theirs in _IN_MATHTEXT:
        formula = formula.replace(ours, theirs)
    return formula


def _cut(gray: Gray, box: list[float] | None, scale: float) -> Gray | None:
    if box is None:
        return None
    left, top, right, bottom = (round(side * scale) for side in box)
    return crop_to_ink(gray[top:bottom, left:right]) if bottom > top and right > left else None
