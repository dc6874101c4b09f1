"""Formulas that nothing was chosen by: no rule and no weights were made with pictures of them in sight.

    python benchmarks/strangers.py FOLDER       draws them as `people.py` draws its own (needs what that needs)
    python benchmarks/people.py read FOLDER     reads them

The people set and the visitors have been looked at while the reader was made. These have only been counted: look at
what is wrong with them, and they are strangers no longer.
"""

import sys
from pathlib import Path

from people import Chosen, make

FORMULAS = r"""
(x + 1)(x - 2) = x^2 - x - 2
\frac{2x - 1}{x + 3} \leq 4
\sqrt{x + 7} = x - 5
\log_{10} 1000 = 3
2^x = 64 \Rightarrow x = 6
\left| 2x - 3 \right| < 7
\frac{\Delta y}{\Delta x} = \frac{y_2 - y_1}{x_2 - x_1}
d = \sqrt{(x_2 - x_1)^2 + (y_2 - y_1)^2}
\sin 30^\circ = \frac{1}{2}
c^2 = a^2 + b^2 - 2ab \cos \gamma
\frac{d}{dx} x^n = n x^{n-1}
(f \circ g)'(x) = f'(g(x)) g'(x)
\int u \, dv = uv - \int v \, du
\int_0^{\pi} \sin x \, dx = 2
f(x) = \sum_{n=0}^{\infty} \frac{f^{(n)}(a)}{n!} (x - a)^n
\lim_{x \to \infty} \frac{3x^2 + 1}{5x^2 - x} = \frac{3}{5}
\iiint_V \nabla \cdot \mathbf{F} \, dV = \iint_S \mathbf{F} \cdot \mathbf{n} \, dS
\oint_{\partial D} P \, dx + Q \, dy
\frac{\partial f}{\partial x} = 2xy + e^y
y'' + 4y' + 4y = \cos 2t
\mathcal{L}\{ f(t) \} = \int_0^{\infty} f(t) e^{-st} \, dt
\hat{f}(\xi) = \int_{-\infty}^{\infty} f(x) e^{-2\pi i x \xi} \, dx
\vec{a} \times \vec{b} = |\vec{a}| |\vec{b}| \sin \varphi \, \vec{n}
\begin{pmatrix} \cos \theta & -\sin \theta \\ \sin \theta & \cos \theta \end{pmatrix}
\begin{bmatrix} 2 & 1 \\ 1 & 3 \end{bmatrix} \begin{bmatrix} x \\ y \end{bmatrix} = \begin{bmatrix} 5 \\ 9 \end{bmatrix}
\det(A - \lambda I) = 0
A = U \Sigma V^T
\operatorname{tr}(AB) = \operatorname{tr}(BA)
\langle u, v \rangle \leq \| u \| \cdot \| v \|
\operatorname{rank}(A) + \dim \ker A = n
\bar{x} = \frac{x_1 + x_2 + \cdots + x_n}{n}
s^2 = \frac{1}{n-1} \sum_{i=1}^{n} (x_i - \bar{x})^2
Z = \frac{X - \mu}{\sigma / \sqrt{n}}
P(X \leq x) = 1 - e^{-\lambda x}
\hat{\beta} = (X^T X)^{-1} X^T y
\operatorname{Cov}(X, Y) = E[XY] - E[X] E[Y]
\chi^2 = \sum \frac{(O - E)^2}{E}
r = \frac{\sum (x_i - \bar{x})(y_i - \bar{y})}{\sqrt{\sum (x_i - \bar{x})^2}}
T(n) = 2T(n/2) + O(n)
O(n \log n) \subset O(n^2)
\left\lceil \frac{n}{2} \right\rceil + \left\lfloor \frac{n}{2} \right\rfloor = n
w \leftarrow w - \alpha \frac{\partial J}{\partial w}
\mathrm{ReLU}(x) = \max(0, x)
F_1 = \frac{2PR}{P + R}
\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left( \frac{QK^T}{\sqrt{d_k}} \right) V
p \rightarrow q \equiv \neg p \vee q
\exists! x \in A
A \setminus B = A \cap B^c
|A \cup B| = |A| + |B| - |A \cap B|
a \mid b \Leftrightarrow b = ka
\gcd(a, b) \cdot \operatorname{lcm}(a, b) = ab
v^2 = v_0^2 + 2a \Delta x
E_k = \frac{1}{2} m v^2
\lambda = \frac{h}{p}
Q = mc \Delta T
\frac{1}{R} = \frac{1}{R_1} + \frac{1}{R_2}
\Phi_B = \oint \vec{B} \cdot d\vec{A} = 0
\Delta G = \Delta H - T \Delta S
\mathrm{N_2} + 3 \mathrm{H_2} \rightleftharpoons 2 \mathrm{NH_3}
\overbrace{a + a + \cdots + a}^{k} = ka
""".strip().splitlines()
LINES = r"""
\begin{aligned} 3x - 7 &= 2 \\ 3x &= 9 \\ x &= 3 \end{aligned}
\begin{aligned} a + b &= 10 \\ ab &= 21 \end{aligned}
\begin{aligned} \int_1^e \ln x \, dx &= [x \ln x - x]_1^e \\ &= 1 \end{aligned}
\begin{gathered} v = v_0 + at \\ s = v_0 t + \frac{1}{2} a t^2 \end{gathered}
\left\{ \begin{array}{l} x + 2y = 4 \\ 3x - y = 5 \end{array} \right.
\begin{aligned} (1 + x)^2 - 1 &= 2x + x^2 \\ &= x(2 + x) \end{aligned}
\begin{array}{l} p = mv \\ L = r \times p \\ E = pc \end{array}
\begin{aligned} P(A) &= \frac{1}{6} \\ P(B) &= \frac{5}{6} \end{aligned}
\begin{aligned} z &= a + bi \\ \bar{z} &= a - bi \\ z \bar{z} &= a^2 + b^2 \end{aligned}
\begin{gathered} \mathrm{2 H_2 O_2 \rightarrow 2 H_2 O + O_2} \\ \Delta H < 0 \end{gathered}
""".strip().splitlines()
SYMBOLS = (
    r"2 4 6 8 9 b e i j n q r t w G J Q U Y "
    r"\epsilon \eta \psi \rho \tau \Phi \Psi - \times \div \cup \neg \geq \subset \hbar \ell"
).split()
_SEED = 20261119


if __name__ == "__main__":
    make(Path(sys.argv[1]), Chosen(FORMULAS, LINES, SYMBOLS, _SEED))
