"""How many separate strokes of ink a token has in print: an i has two, a fraction its bar, a brace none."""

from collections.abc import Sequence

from unrender.latex.commands import SILENT

_NAMES = frozenset(
    """arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max
    min mod Pr sec sin sinh sup tan tanh""".split()
)
_DOTTED = frozenset("ij")
_SEVERAL: dict[int, str] = {
    2: r"""! " -- : ; = ? i j \AA \Vert \approx \asymp \colon \ge \geq \geqslant \gtrsim \iint \le \leq \leqslant
       \lesssim \odot \parallel \preceq \simeq \subseteq \succeq \supseteq \| \left\| \right\| \rightleftharpoons
       \leftrightharpoons \Vdash \trianglelefteq \approxeq \lneq \gneq \sqsubseteq \sqsupseteq \ddot \binom""",
    3: r"""--- \Xi \cdots \cong \ddots \doteq \dots \dotsc \dotsb \ldots \equiv \triangleq \vdots \iiint \therefore
       \because \div \leqq \geqq \bmod""",
}
_COUNTS = {token: count for count, tokens in _SEVERAL.items() for token in tokens.split()}
_COUNTS |= {f"\\{name}": len(name) + sum(letter in _DOTTED for letter in name) for name in _NAMES}


def count_strokes(tokens: Sequence[str]) -> int:
    """Return how many strokes a formula has when it is printed, the columns of arrays left out."""
    count, declared = 0, True
    for token in tokens:
        if not declared:
            declared = token == "}"
        elif token == r"\begin{array}":
            declared = False
        else:
            count += strokes_of(token)
    return count


def strokes_of(token: str) -> int:
    """Return how many strokes a token has when it is printed."""
    return 0 if token in SILENT else _COUNTS.get(token, 1)
