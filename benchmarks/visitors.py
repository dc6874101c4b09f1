"""More pictures as new users bring them, of kinds that `people.py` lacks: what surrounds a formula, and colours.

    python benchmarks/visitors.py FOLDER        draws them with a fixed seed (needs TeX and dvipng)
    python benchmarks/people.py read FOLDER     reads them

Other formulas than those of `people.py`, none of them trained on: numbered, boxed, underlined, with a point at the end,
with a scrap of the next line, in a wide margin, in colours, transparent, very large and very small, as poor JPEG files,
photographed askew, by themselves or as derivations of several lines.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from people import jpeg, perspective
from PIL import Image, ImageDraw, ImageFilter

from unrender.typesetting import Style
from unrender.typesetting.pictures import typeset

FORMULAS = r"""
3x + 5 = 20
\frac{3}{4} + \frac{1}{6} = \frac{11}{12}
x_{1,2} = -\frac{p}{2} \pm \sqrt{\frac{p^2}{4} - q}
(a - b)(a + b) = a^2 - b^2
V = \frac{4}{3} \pi r^3
A = \frac{1}{2} g h
c = \sqrt{a^2 + b^2}
\sqrt{2} \approx 1.414
12 : 4 = 3
7 \cdot 8 = 56
f(x) = ax^2 + bx + c
\int_a^b f(x) \, dx = F(b) - F(a)
\int \frac{1}{x} \, dx = \ln |x| + C
\frac{d}{dx} \left( \frac{u}{v} \right) = \frac{u' v - u v'}{v^2}
e^x = \sum_{k=0}^{\infty} \frac{x^k}{k!}
\lim_{n \to \infty} \left( 1 + \frac{1}{n} \right)^n = e
\cos(\alpha + \beta) = \cos \alpha \cos \beta - \sin \alpha \sin \beta
\frac{a}{\sin \alpha} = \frac{b}{\sin \beta} = \frac{c}{\sin \gamma}
\sum_{i=1}^{n} i^2 = \frac{n(n+1)(2n+1)}{6}
\prod_{k=1}^{n} k = n!
\| x + y \| \leq \| x \| + \| y \|
A x = \lambda x
A^{-1} = \frac{1}{ad - bc} \begin{pmatrix} d & -b \\ -c & a \end{pmatrix}
\begin{pmatrix} 1 & 0 & 0 \\ 0 & 1 & 0 \\ 0 & 0 & 1 \end{pmatrix}
\operatorname{Var}(X) = E[X^2] - (E[X])^2
P(X = k) = \binom{n}{k} p^k (1-p)^{n-k}
f(x) = \frac{1}{\sqrt{2 \pi \sigma^2}} e^{-\frac{(x - \mu)^2}{2 \sigma^2}}
H(X) = -\sum_{x} p(x) \log p(x)
D_{KL}(P \| Q) = \sum_x P(x) \log \frac{P(x)}{Q(x)}
\theta_{t+1} = \theta_t - \eta \nabla L(\theta_t)
\mathrm{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}
x^{(k+1)} = D^{-1} (b - R x^{(k)})
\mathbb{R}^n \to \mathbb{R}
A \subseteq B \Rightarrow A \cup B = B
\exists x \in \mathbb{R} : x^2 = 2
U = R \cdot I
F = G \frac{m_1 m_2}{r^2}
E = h \nu = \frac{h c}{\lambda}
p V = n R T
\frac{1}{f} = \frac{1}{g} + \frac{1}{b}
s = \frac{1}{2} a t^2 + v_0 t + s_0
\Delta x \Delta p \geq \frac{\hbar}{2}
\nabla \cdot \mathbf{B} = 0
\frac{\partial \rho}{\partial t} + \nabla \cdot (\rho \mathbf{v}) = 0
\langle \psi | \hat{A} | \psi \rangle
\gamma = \frac{1}{\sqrt{1 - v^2 / c^2}}
\ddot{x} + 2 \gamma \dot{x} + \omega_0^2 x = 0
L = T - V
\frac{d}{dt} \frac{\partial L}{\partial \dot{q}} - \frac{\partial L}{\partial q} = 0
S = k_B \ln \Omega
\mathrm{CH_4} + 2 \mathrm{O_2} \rightarrow \mathrm{CO_2} + 2 \mathrm{H_2O}
\mathrm{Fe_2O_3} + 3 \mathrm{CO} \rightarrow 2 \mathrm{Fe} + 3 \mathrm{CO_2}
\mathrm{pH} = -\log [\mathrm{H^+}]
{}^{14}_{6} \mathrm{C}
K_n = K_0 \left( 1 + \frac{p}{100} \right)^n
\overline{x} = \frac{1}{n} \sum_{i=1}^{n} x_i
f(n) = \begin{cases} n / 2 & n \text{ even} \\ 3n + 1 & n \text{ odd} \end{cases}
a_0 + \cfrac{1}{a_1 + \cfrac{1}{a_2}}
1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 = 78
(x_1 + x_2 + x_3)^2 = x_1^2 + x_2^2 + x_3^2 + 2 x_1 x_2 + 2 x_1 x_3 + 2 x_2 x_3
""".strip().splitlines()
LINES = r"""
\begin{aligned} 2x + 3 &= 11 \\ 2x &= 8 \\ x &= 4 \end{aligned}
\begin{aligned} x^2 + 6x + 5 &= 0 \\ (x + 3)^2 - 4 &= 0 \\ x + 3 &= \pm 2 \\ x &= -3 \pm 2 \end{aligned}
\begin{aligned} \cos 2x &= \cos^2 x - \sin^2 x \\ &= 2 \cos^2 x - 1 \end{aligned}
\begin{aligned} \dot{x} &= \sigma (y - x) \\ \dot{y} &= x (\rho - z) - y \\ \dot{z} &= x y - \beta z \end{aligned}
\begin{gathered} U = R I \\ P = U I \end{gathered}
\begin{aligned} s &= v t \\ v &= a t \\ F &= m a \\ W &= F s \\ P &= \frac{W}{t} \end{aligned}
\begin{aligned} \frac{1}{R} &= \frac{1}{R_1} + \frac{1}{R_2} \\ R &= \frac{R_1 R_2}{R_1 + R_2} \end{aligned}
\begin{aligned} \int x e^x \, dx &= x e^x - \int e^x \, dx \\ &= (x - 1) e^x + C \end{aligned}
\begin{aligned} x + y + z &= 6 \\ 2x - y + z &= 3 \\ x - z &= -2 \end{aligned}
\begin{aligned} \mu &= E[X] \\ \sigma^2 &= E[(X - \mu)^2] \end{aligned}
""".strip().splitlines()
SYMBOLS = (
    r"b c d e f g h k m p q r s t u v w C D E F G H K M N P Q R S T V X Z "
    r"\beta \gamma \delta \lambda \mu \sigma \phi \omega \Omega \Delta \Gamma \partial \nabla \pm \neq \approx "
    r"\rightarrow \in \prod \sqrt{2} \frac{1}{2} x^2 a_1 10 42"
).split()
_WORDS = "we obtain the following equation of motion where all terms are known and hence that the sum is finite".split()
_EACH = 8
Gray = np.ndarray
Kind = Callable[[Gray, np.random.Generator], Image.Image]


def make(folder: Path) -> None:
    """Draw every kind, and write labels.tsv: picture, kind, formula."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (kind, formula, picture) in enumerate(_pictures(np.random.default_rng(20261119))):
        name = f"{number:04d}.{'jpg' if kind == 'poor jpeg' else 'png'}"
        picture.save(folder / name, **({"quality": 25} if kind == "poor jpeg" else {}))
        rows.append(f"{name}\t{kind}\t{formula}\n")
    (folder / "labels.tsv").write_text("".join(rows))
    print(f"{len(rows)} pictures in {folder}")


def _pictures(rng: np.random.Generator) -> Iterator[tuple[str, str, Image.Image]]:
    for dpi in (100, 160):
        yield from _drawn("plain", FORMULAS[dpi == 160 :: 2], Style(dpi=dpi), _plain, rng)
    yield from _drawn("lines", LINES, Style(dpi=120), _plain, rng)
    yield from _drawn("lines photographed", LINES, Style(dpi=200, points=12), _askew, rng)
    for dpi in (90, 220):
        yield from _drawn("single symbols", SYMBOLS[dpi == 220 :: 2], Style(dpi=dpi, display=False), _plain, rng)
    for kind, draw in KINDS.items():
        dpi = _DPI.get(kind, 150)
        chosen = [FORMULAS[int(index)] for index in rng.choice(len(FORMULAS), _EACH, replace=False)]
        shown = [_SPELLED.get(kind, "{}").replace("{}", formula) for formula in chosen]
        yield from _drawn(kind, shown, Style(dpi=dpi), draw, rng)


def _drawn(
    kind: str, formulas: Sequence[str], style: Style, draw: Kind, rng: np.random.Generator
) -> Iterator[tuple[str, str, Image.Image]]:
    for formula, gray in zip(formulas, typeset(formulas, style), strict=True):
        if gray is not None:
            yield kind, formula, draw(gray, rng)


def _padded(gray: Gray, pad: int = 14) -> Gray:
    return np.pad(gray, pad, constant_values=255)


def _plain(gray: Gray, rng: np.random.Generator) -> Image.Image:
    return Image.fromarray(_padded(gray))


def _underlined(gray: Gray, rng: np.random.Generator) -> Image.Image:
    image = Image.fromarray(_padded(gray, 20))
    ImageDraw.Draw(image).rectangle((18, image.height - 12, image.width - 19, image.height - 11), fill=0)
    return image


def _boxed(gray: Gray, rng: np.random.Generator) -> Image.Image:
    image = Image.fromarray(_padded(gray, 30))
    ImageDraw.Draw(image).rectangle((14, 14, image.width - 15, image.height - 15), outline=0, width=2)
    return image


def _wide_margin(gray: Gray, rng: np.random.Generator) -> Image.Image:
    page = Image.new("L", (1600, 900), 255)
    page.paste(Image.fromarray(gray), (int(rng.integers(50, 900)), int(rng.integers(50, 700))))
    return page


def _scrap(gray: Gray, rng: np.random.Generator, *, above: bool) -> Image.Image:
    """Leave half of a line of text above or below."""
    start = int(rng.integers(len(_WORDS) - 6))
    [text] = typeset([rf"\text{{{' '.join(_WORDS[start : start + 6])}}}"], Style(dpi=150, display=False))
    assert text is not None
    scrap = text[len(text) // 2 :] if above else text[: len(text) // 2]
    width = max(gray.shape[1], scrap.shape[1]) + 40
    page = Image.new("L", (width, gray.shape[0] + scrap.shape[0] + 40), 255)
    page.paste(Image.fromarray(scrap), (20, 0 if above else page.height - scrap.shape[0]))
    page.paste(Image.fromarray(gray), ((width - gray.shape[1]) // 2, scrap.shape[0] + 25 if above else 15))
    return page


def _coloured(gray: Gray, ink: tuple[int, int, int], paper: tuple[int, int, int]) -> Image.Image:
    share = (_padded(gray, 20) / 255)[..., None]
    return Image.fromarray((share * np.array(paper) + (1 - share) * np.array(ink)).astype(np.uint8))


def _transparent(gray: Gray, level: int) -> Image.Image:
    alpha = 255 - _padded(gray, 20)
    return Image.fromarray(np.dstack([np.full((*alpha.shape, 3), level, np.uint8), alpha]))


def _askew(gray: Gray, rng: np.random.Generator) -> Image.Image:
    """Photograph it turned, from the side, with light from one side."""
    values = np.pad(gray, 90, constant_values=255).astype(np.float32) / 255
    image = Image.fromarray((values * 255).astype(np.uint8)).rotate(
        float(rng.uniform(-3, 3)), Image.Resampling.BICUBIC, fillcolor=255
    )
    image = perspective(image, rng, 0.07)
    light = np.linspace(rng.uniform(0.6, 1), rng.uniform(0.6, 1), image.width)
    shown = (0.2 + 0.7 * np.asarray(image, dtype=np.float32) / 255) * light + rng.normal(0, 0.02, image.size[::-1])
    return jpeg(Image.fromarray((np.clip(shown, 0, 1) * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(1.0)))


def _notebook(gray: Gray, rng: np.random.Generator) -> Image.Image:
    """Write it in blue on squared paper with a red margin line."""
    image = _coloured(np.pad(gray, 60, constant_values=255), (30, 50, 140), (250, 248, 240))
    draw, step = ImageDraw.Draw(image), int(rng.integers(30, 42))
    for x in range(int(rng.integers(step)), image.width, step):
        draw.line((x, 0, x, image.height), fill=(190, 210, 235))
    for y in range(int(rng.integers(step)), image.height, step):
        draw.line((0, y, image.width, y), fill=(190, 210, 235))
    written = _coloured(np.pad(gray, 60, constant_values=255), (30, 50, 140), (255, 255, 255))
    return Image.fromarray(np.minimum(np.asarray(image), np.asarray(written)))


KINDS: dict[str, Kind] = {
    "equation number": _plain,
    "point at the end": _plain,
    "underlined": _underlined,
    "boxed": _boxed,
    "wide margin": _wide_margin,
    "scrap above": lambda gray, rng: _scrap(gray, rng, above=True),
    "scrap below": lambda gray, rng: _scrap(gray, rng, above=False),
    "blue ink": lambda gray, rng: _coloured(gray, (40, 80, 200), (255, 255, 255)),
    "red on yellow": lambda gray, rng: _coloured(gray, (190, 20, 30), (255, 250, 190)),
    "yellow on blue": lambda gray, rng: _coloured(gray, (255, 230, 90), (20, 40, 110)),
    "pale gray": lambda gray, rng: _coloured(gray, (170, 170, 170), (255, 255, 255)),
    "transparent": lambda gray, rng: _transparent(gray, 0),
    "transparent light": lambda gray, rng: _transparent(gray, 255),
    "huge": _plain,
    "tiny": _plain,
    "poor jpeg": _plain,
    "askew": _askew,
    "notebook": _notebook,
}
_DPI = {"huge": 800, "tiny": 55, "wide margin": 110, "askew": 200}
_SPELLED = {
    "equation number": r"{} \qquad \qquad \qquad (3)",
    "point at the end": "{} .",
}


if __name__ == "__main__":
    make(Path(sys.argv[1]))
