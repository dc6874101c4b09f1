"""Formula pictures as people have them: other renderers and fonts, photos, paper, several lines, single symbols, pens.

`python benchmarks/people.py make FOLDER` draws them with a fixed seed (needs TeX, dvipng, Chromium, npm's katex and
@mathjax/src under ~/.cache/unrender/node, pip's ziamath); `python benchmarks/people.py read FOLDER [MODEL]` reads them
and prints, by kind, how many are right (the same visible tokens, spelling and spacing aside), the error rate of these
tokens, and how much of the typeset formula is seen where it should be (`cdm`); at last how well the confidence tells
right from wrong. None of these formulas, pictures or held-back fonts is trained on.
"""

import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

import unrender
from unrender import latex, metrics
from unrender.checkpoints import cache_folder
from unrender.errors import UnrenderError
from unrender.evaluation.scoring import see
from unrender.metrics import calibration_error
from unrender.training.formula.renderers import HELD_FONTS, draw_with_mathjax, draw_with_matplotlib, open_browser
from unrender.training.formula.texts import visible
from unrender.typesetting import FONTS, Style
from unrender.typesetting.pictures import typeset

FORMULAS = r"""
x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
a^2 + b^2 = c^2
e^{i\pi} + 1 = 0
E = mc^2
\int_{-\infty}^{\infty} e^{-x^2} dx = \sqrt{\pi}
\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}
\lim_{x \to 0} \frac{\sin x}{x} = 1
f'(x) = \lim_{h \to 0} \frac{f(x+h) - f(x)}{h}
\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}
\oint_C \mathbf{F} \cdot d\mathbf{r} = 0
\iint_D f(x, y) \, dA
\hat{H} \psi = E \psi
i\hbar \frac{\partial}{\partial t} \Psi = \hat{H} \Psi
P(A \mid B) = \frac{P(B \mid A) P(A)}{P(B)}
\begin{pmatrix} a & b \\ c & d \end{pmatrix}
A = \begin{bmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \\ 7 & 8 & 9 \end{bmatrix}
\det \begin{vmatrix} 1 & 0 \\ 2 & -3 \end{vmatrix} = -3
|x| = \begin{cases} x, & x \geq 0 \\ -x, & x < 0 \end{cases}
\sqrt[3]{27} = 3
\sqrt[n]{a^m} = a^{m/n}
\binom{n}{k} = \frac{n!}{k!(n-k)!}
(a+b)^n = \sum_{k=0}^{n} \binom{n}{k} a^{n-k} b^k
\forall \epsilon > 0 \; \exists \delta > 0
A \cap B = \emptyset
\lfloor x \rfloor \leq x < \lfloor x \rfloor + 1
\lceil \log_2 n \rceil
\angle ABC = 90^\circ
\mathrm{H_2O} \rightleftharpoons \mathrm{H^+} + \mathrm{OH^-}
2\mathrm{H}_2 + \mathrm{O}_2 \rightarrow 2\mathrm{H}_2\mathrm{O}
v = 3 \times 10^8 \, \text{m/s}
F = ma
y = mx + b
\sin^2 \theta + \cos^2 \theta = 1
\log(ab) = \log a + \log b
\frac{dy}{dx} + P(x) y = Q(x)
\frac{\partial^2 u}{\partial t^2} = c^2 \nabla^2 u
\mathbb{E}[X] = \int x f(x) \, dx
\sigma = \sqrt{\frac{1}{N} \sum_{i=1}^{N} (x_i - \mu)^2}
\frac{1}{1 + e^{-x}}
\vec{F} = q(\vec{E} + \vec{v} \times \vec{B})
\mathcal{L} = -\sum_i y_i \log \hat{y}_i
x_{n+1} = x_n - \frac{f(x_n)}{f'(x_n)}
\Gamma(z) = \int_0^\infty t^{z-1} e^{-t} dt
\zeta(s) = \prod_p \frac{1}{1 - p^{-s}}
\alpha + \beta = \gamma
n \in \mathbb{N}
a \equiv b \pmod{n}
x \in A \cup B
\overline{AB} \parallel \overline{CD}
\frac{a}{b} \div \frac{c}{d} = \frac{ad}{bc}
R_{\mu\nu} - \frac{1}{2} R g_{\mu\nu} = 8\pi G T_{\mu\nu}
\left( \frac{x}{y} \right)^2
\max_{0 \leq x \leq 1} f(x)
\text{if } x > 0 \text{ then } f(x) = 1
1 + \frac{1}{1 + \frac{1}{1 + x}}
2^{2^n} + 1
\underbrace{1 + 1 + \cdots + 1}_{n}
\neg (p \wedge q) \Leftrightarrow \neg p \vee \neg q
S_n = \frac{n(a_1 + a_n)}{2}
\tan \alpha = \frac{\sin \alpha}{\cos \alpha}
""".strip().splitlines()
LINES = r"""
\begin{aligned} x + y &= 5 \\ x - y &= 1 \end{aligned}
\begin{aligned} (a+b)^2 &= (a+b)(a+b) \\ &= a^2 + 2ab + b^2 \end{aligned}
\begin{gathered} E = mc^2 \\ F = ma \end{gathered}
\begin{aligned} f(x) &= x^2 \\ f'(x) &= 2x \\ f''(x) &= 2 \end{aligned}
\begin{array}{l} a = 1 \\ b = 2 \\ c = a + b \end{array}
\left\{ \begin{array}{l} 2x + 3y = 7 \\ x - y = 1 \end{array} \right.
\begin{aligned} \nabla \cdot E &= \frac{\rho}{\epsilon_0} \\ \nabla \cdot B &= 0 \end{aligned}
\begin{gathered} \sin^2 x + \cos^2 x = 1 \\ \tan x = \frac{\sin x}{\cos x} \\ \cot x = \frac{1}{\tan x} \end{gathered}
\begin{array}{l} \text{(1) } x = 1 \\ \text{(2) } y = 2 \end{array}
\begin{aligned} \int_0^1 x^2 dx &= \left[ \frac{x^3}{3} \right]_0^1 \\ &= \frac{1}{3} \end{aligned}
""".strip().splitlines()
SYMBOLS = (
    r"0 1 2 3 4 5 6 7 8 9 x y z a n A B "
    r"\alpha \pi \theta \Sigma \infty \emptyset \forall \exists \int \sum + = \leq"
).split()
PHOTO_KINDS = (
    "mild photo",
    "shadow",
    "ruled paper",
    "squared paper",
    "dust",
    "dotted frame",
    "blackboard",
    "dark mode",
    "small",
)


@dataclass(frozen=True)
class Chosen:
    """What is drawn: formulas of one line and of several, single symbols; and the seed of how."""

    formulas: Sequence[str]
    lines: Sequence[str]
    symbols: Sequence[str]
    seed: int


PEOPLE = Chosen(FORMULAS, LINES, SYMBOLS, 20261117)


def make(folder: Path, chosen: Chosen = PEOPLE) -> None:
    """Draw every kind, and write labels.tsv: picture, kind, formula."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (kind, formula, picture) in enumerate(_pictures(chosen, np.random.default_rng(chosen.seed))):
        name = f"{number:04d}.png"
        picture.save(folder / name)
        rows.append(f"{name}\t{kind}\t{formula}\n")
    (folder / "labels.tsv").write_text("".join(rows))
    print(f"{len(rows)} pictures in {folder}")


def read(folder: Path, model: str = "formula") -> None:
    """Read every picture and print the table."""
    reader = unrender.open_reader(model)
    rows = [line.split("\t") for line in (folder / "labels.tsv").read_text().splitlines()]
    results = []
    for name, kind, formula in rows:
        began = time.process_time()
        document = reader.read(folder / name)
        seconds = time.process_time() - began
        results.append(Result(name, kind, formula, document.text, document.confidence, seconds))
    wrong = [vars(result) for result in results if not same(result.read, result.truth)]
    (folder / f"wrong-{Path(model).name}.json").write_text(json.dumps(wrong, indent=1))
    seen = see([result.truth for result in results], [result.read for result in results], fonts=False)
    print(f"{'kind':24} right   of  share  wer    cdm    s/picture")
    for kind in (*dict.fromkeys(result.kind for result in results), "all"):
        chosen = [(one, cdm) for one, cdm in zip(results, seen, strict=True) if kind in (one.kind, "all")]
        right = sum(same(one.read, one.truth) for one, _ in chosen)
        errors = metrics.wer([_tokens(one.truth) for one, _ in chosen], [_tokens(one.read) for one, _ in chosen])
        known = [cdm for _, cdm in chosen if cdm is not None]
        seconds = np.mean([one.seconds for one, _ in chosen])
        print(
            f"{kind:24} {right:5d} {len(chosen):4d}  {right / len(chosen):5.2f}  {errors.value:5.3f}  "
            f"{np.mean(known):5.3f}  {seconds:5.2f}"
        )
    sure = [(one.confidence, same(one.read, one.truth)) for one in results if one.confidence is not None]
    chances, truly = np.array([chance for chance, _ in sure]), np.array([right for _, right in sure])
    error = calibration_error(chances.tolist(), truly.tolist()).value
    print(f"confidence of {len(sure)}: AUC {auc(chances, truly):.3f}, calibration error {error:.3f}")


def auc(values: np.ndarray, right: np.ndarray) -> float:
    """Return how often a right reading has the higher value than a wrong one."""
    good, bad = values[right], values[~right]
    if not len(good) or not len(bad):
        return 0.5
    return float((good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean())


@dataclass(frozen=True)
class Result:
    """What was read in one picture."""

    name: str
    kind: str
    truth: str
    read: str
    confidence: float | None
    seconds: float


def _tokens(text: str) -> str:
    plain = _plain(text)
    return plain if isinstance(plain, str) else " ".join(plain)


def same(reading: str, truth: str) -> bool:
    """Whether two formulas have the same visible tokens."""
    return _plain(reading) == _plain(truth)


def _plain(text: str) -> list[str] | str:
    text = text.replace("\\pmod{n}", "(\\operatorname{mod} n)").replace("\\displaystyle", "")
    try:
        tokens = visible(latex.normalise(text, unify=True)).split()
    except UnrenderError:
        return text
    columns = False
    kept: list[str] = []
    for token in tokens:  # alignment of columns cannot be seen in most pictures, nor what opens a font
        columns = token == "\\begin{array}" or (columns and token != "}")
        if not columns and token not in (
            "{",
            "}",
            "\\mathrm",
            "\\operatorname",
            "\\operatorname*",
            "\\cal",
            "\\mathcal",
            "\\bf",
            "\\mathbf",
            "~",
            "&",
        ):
            kept.append(
                {"\\varnothing": "\\emptyset", "\\epsilon": "\\varepsilon", "\\varphi": "\\phi"}.get(token, token)
                .replace("\\left", "")
                .replace("\\right", "")
                if token not in ("\\leftarrow", "\\rightarrow")
                else token
            )
    return [token for token in kept if token not in (".", "")]


def _pictures(of: Chosen, rng: np.random.Generator) -> Iterator[tuple[str, str, Image.Image]]:
    def some(count: int) -> list[str]:
        return [of.formulas[int(index)] for index in rng.choice(len(of.formulas), count, replace=False)]

    for font in ("computer-modern", *sorted(FONTS.keys() - {"computer-modern"})):
        chosen = some(12)
        style = Style(points=int(rng.choice([10, 11, 12])), dpi=int(rng.choice([90, 120, 150, 200])), font=font)
        yield from _named(f"latex {font}", chosen, typeset(chosen, style))
    node = cache_folder() / "node"
    with open_browser(node / "node_modules" / "katex", fonts=HELD_FONTS, scale=1.0) as browser:
        for kind, katex in (("katex", True), ("chromium mathml", False)):
            yield from _named(kind, of.formulas, browser.draw(of.formulas, rng, katex=katex))
        yield from _named("katex lines", of.lines, browser.draw(of.lines, rng, katex=True))
    for font in ("newcm", "stix2", "termes"):
        chosen = some(20)
        yield from _named(
            f"mathjax {font}",
            chosen,
            [gray if gray is None else Image.fromarray(gray) for gray in draw_with_mathjax(chosen, font, node)],
        )
    yield from _named("matplotlib", of.formulas, draw_with_matplotlib(of.formulas, rng))
    chosen = some(30)
    yield from _named("ziamath", chosen, [_ziamath(formula) for formula in chosen])
    yield from _named("latex lines", of.lines, typeset(of.lines, Style(dpi=130)))
    yield from _named("single symbols", of.symbols, typeset(of.symbols, Style(dpi=150, display=False)))
    for kind in PHOTO_KINDS:
        chosen = some(12)
        drawn = typeset(chosen, Style(dpi=200, points=12))
        yield from _named(kind, chosen, [None if gray is None else disturb(gray, kind, rng) for gray in drawn])


def _named(
    kind: str, formulas: Sequence[str], pictures: Sequence[np.ndarray | Image.Image | None]
) -> Iterator[tuple[str, str, Image.Image]]:
    for formula, picture in zip(formulas, pictures, strict=True):
        if picture is not None:
            image = (
                picture
                if isinstance(picture, Image.Image)
                else Image.fromarray(np.pad(picture, 12, constant_values=255))
            )
            yield kind, formula, image


def _ziamath(formula: str) -> Image.Image | None:
    import ziamath
    from resvg_py import svg_to_bytes

    try:
        svg = ziamath.Latex(formula, size=24).svg()
    except Exception:  # noqa: BLE001 - whatever it cannot draw is left out
        return None
    return Image.open(io.BytesIO(bytes(svg_to_bytes(svg_string=svg, background="white", zoom=2)))).convert("L")


def disturb(gray: np.ndarray, kind: str, rng: np.random.Generator) -> Image.Image:
    """Make a clean picture into one of a kind that people photograph."""
    pad = int(rng.integers(30, 80))
    values = np.pad(gray, pad, constant_values=255).astype(np.float32) / 255
    height, width = values.shape
    across, down = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    if kind in ("mild photo", "shadow"):
        depth = 0.4 if kind == "shadow" else 0.15
        edge = rng.uniform(0.2, 0.6)
        direction = np.cos(angle := rng.uniform(0, 6.28)) * across + np.sin(angle) * down
        light = 1 - depth / (1 + np.exp(-(direction - edge) * (40 if kind == "shadow" else 6)))
        values = (0.25 + 0.65 * values) * light
        values += rng.normal(0, 0.015, values.shape)
        image = Image.fromarray((np.clip(values, 0, 1) * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.8))
        return jpeg(perspective(image, rng, 0.03))
    image = Image.fromarray((values * 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    if kind in ("ruled paper", "squared paper"):
        step = int(rng.integers(28, 44))
        for y in range(int(rng.integers(step)), height, step):
            draw.line((0, y, width, y), fill=190, width=1)
        for x in range(int(rng.integers(step)), width, step) if kind == "squared paper" else ():
            draw.line((x, 0, x, height), fill=190, width=1)
    elif kind == "dust":
        for _ in range(60):
            x, y, size = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.3, 1.4)
            draw.ellipse((x - size, y - size, x + size, y + size), fill=int(rng.integers(0, 120)))
    elif kind == "dotted frame":
        for x in range(4, width - 4, 6):
            draw.point([(x, 4), (x, height - 5)], fill=150)
        for y in range(4, height - 4, 6):
            draw.point([(4, y), (width - 5, y)], fill=150)
    elif kind == "blackboard":
        board = 40 + 190 * (1 - values) + rng.normal(0, 8, values.shape)
        return jpeg(Image.fromarray(np.clip(board, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.7)))
    elif kind == "dark mode":
        return Image.fromarray((30 + 200 * (1 - values)).astype(np.uint8))
    elif kind == "small":
        factor = rng.uniform(0.3, 0.45)
        return image.resize((max(8, round(width * factor)), max(8, round(height * factor))), Image.Resampling.LANCZOS)
    return image


def perspective(image: Image.Image, rng: np.random.Generator, strength: float) -> Image.Image:
    width, height = image.size
    corners = [(0, 0), (0, height), (width, height), (width, 0)]
    quad = [
        c + rng.uniform(0, strength) * s * (1 if c == 0 else -1)
        for x, y in corners
        for c, s in ((x, width), (y, height))
    ]
    return image.transform(image.size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)


def jpeg(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=70)
    return Image.open(buffer).convert("L")


if __name__ == "__main__":
    verb, folder, *rest = sys.argv[1:]
    make(Path(folder)) if verb == "make" else read(Path(folder), *rest)
