"""What a decoder may write: all official labels, and nothing that is not well-formed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender import latex
from unrender.decoding.rules import Rules
from unrender.latex.grammar import Grammar

WORDS = (
    r"<pad> </s> a b 1 + ( ) [ ] { } ^ _ ' & \\ \frac \sqrt \hat \mathrm \left( \right) \left. \right. \right] \big |"
    r" \begin{array} \end{array} c l \hline \hspace . - m \sum \operatorname \rightarrow \limits \displaystyle"
    r" \rightleftharpoons \rightrightarrows \substack \pmod"
).split()
END = 1


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(WORDS, END)


def _ids(text: str) -> list[int]:
    return [WORDS.index(token) for token in text.split()]


def _accepts(grammar: Grammar, text: str) -> bool:
    ids = [*_ids(text), END]
    return all(grammar(ids[:place])[token] for place, token in enumerate(ids))


@pytest.mark.parametrize(
    "text",
    [
        r"\frac { a } { b } + a _ { 1 } ^ { b }",
        r"\sqrt [ 1 ] { a } + \sqrt { b [ 1 ] }",
        r"\left( a \right. + \left. \frac { a } { b } \right)",
        r"\begin{array} { c l } \hline a & b \\ 1 & \hat { a } \end{array}",
        r"\big ( a \big | \big )",
        r"a ' + \hspace { 1 . 1 c m } b \rightarrow a",
        r"\frac \hat { a } b",
        r"\sum \limits _ { a } ^ { b } a \\ b",
        r"{ a } ^ { 1 } { } _ { b }",
        r"\mathrm { a \left( b \right) } ]",
        r"\hat { \rightleftharpoons } \sqrt \rightleftharpoons \frac \rightrightarrows b",
        r"\sum _ { \substack { a ^ { 1 } \\ b ^ { 1 } } } a \pmod { b }",
    ],
)
def test_well_formed_formulas_may_be_written(grammar: Grammar, text: str) -> None:
    assert latex.check(text) is None
    assert _accepts(grammar, text)


@pytest.mark.parametrize(
    "text",
    [
        "{ a",
        "a }",
        r"\frac { a }",
        r"\frac { a } +" + " ^",
        "a ^ { b } ^ { b }",
        "a ' ^ { b }",
        "a ^ b",
        r"\left( a",
        r"a \right)",
        r"\left( { a \right) }",
        r"\begin{array} { } a \end{array}",
        r"\begin{array} { c } a",
        "a & b",
        r"\big a",
        r"\hat",
        r"\hspace { } a",
        r"\sqrt [ a } ] { b }",
        r"{ a \\ b }",
        r"\substack a",
        r"\substack { a & b }",
        r"\substack { { a \\ b } }",
        r"\hspace { " + "1 " * 25 + "}",
    ],
)
def test_malformed_formulas_may_not(grammar: Grammar, text: str) -> None:
    assert not _accepts(grammar, text)


def test_special_tokens_are_never_written(grammar: Grammar) -> None:
    assert not grammar([])[0]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_written_at_random_is_well_formed(seed: int) -> None:
    grammar, rng, tokens = Grammar(WORDS, END), np.random.default_rng(seed), list[int]()
    while len(tokens) < 60:
        token = int(rng.choice(np.flatnonzero(grammar(tokens))))
        if token == END:
            break
        tokens.append(token)
    else:
        tokens = _closed(grammar, tokens)
    text = " ".join(WORDS[token] for token in tokens)
    assert latex.check(text) is None, text


def _closed(grammar: Grammar, tokens: list[int]) -> list[int]:
    """Write the shortest way to the end."""
    closing = [WORDS.index(token) for token in ("}", r"\right)", r"\end{array}", "]", "a", "{", "c", "1", "(")]
    for _ in range(400):
        mask = grammar(tokens)
        if mask[END]:
            return tokens
        tokens = [*tokens, next(token for token in closing if mask[token])]
    raise AssertionError("there is no way to the end")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 60))
def test_whatever_is_open_is_closed_before_the_room_runs_out(seed: int, room: int) -> None:
    grammar, rng, tokens = Grammar(WORDS, END, room), np.random.default_rng(seed), list[int]()
    while not tokens or tokens[-1] != END:
        allowed = grammar(tokens).copy()
        allowed[END] &= allowed.sum() == 1  # never of its own accord
        tokens.append(int(rng.choice(np.flatnonzero(allowed))))
    assert len(tokens) <= room
    text = " ".join(WORDS[token] for token in tokens[:-1])
    assert latex.check(text) is None, text


def test_a_phrase_is_not_repeated_for_ever(grammar: Grammar) -> None:
    assert grammar(_ids("a " * 11))[WORDS.index("a")]
    assert not grammar(_ids("b " + "a " * 12))[WORDS.index("a")]
    assert grammar(_ids("b " + "a " * 12))[WORDS.index("b")]
    phrase = "a + b _ { 1 } "
    assert grammar(_ids(phrase * 2))[WORDS.index("a")]
    assert not grammar(_ids(phrase * 3))[WORDS.index("a")]
    assert grammar(_ids(phrase * 3))[END]


def test_equal_cells_of_an_array_are_no_loop(grammar: Grammar) -> None:
    row = r"\begin{array} { c c c c c } " + "{ 1 } & " * 5
    assert grammar(_ids(row))[WORDS.index("{")]
    rows = r"\begin{array} { c } " + r"{ 1 } \\ " * 5
    assert grammar(_ids(rows))[WORDS.index("{")]


def test_a_formula_that_runs_into_a_second_loop_is_ended(grammar: Grammar) -> None:
    once = "a " * 12 + "b "
    assert grammar(_ids("{ " + once))[WORDS.index("a")]
    lost = _ids("{ " + once + "a " * 12)
    assert np.flatnonzero(grammar(lost)).tolist() == [WORDS.index("}")]
    assert np.flatnonzero(grammar([*lost, WORDS.index("}")])).tolist() == [END]


def test_what_is_open_is_closed_once_the_end_is_likeliest(grammar: Grammar) -> None:
    rules = Rules(END, 50, (), grammar, 0)
    scores = np.zeros(len(WORDS), dtype=np.float32)
    scores[[END, WORDS.index("a")]] = 9, 8
    tokens = _ids(r"\frac { 1 } { a")
    assert np.flatnonzero(np.isfinite(rules.allow(scores, tokens))).tolist() == [WORDS.index("}")]
    scores[WORDS.index("a")] = 10
    assert int(rules.allow(scores, tokens).argmax()) == WORDS.index("a")


def test_a_step_back_and_another_way_on_is_the_same_as_from_the_start(grammar: Grammar) -> None:
    for text in ("a ^ { b }", "a _ { b }", "a ^ { 1 }"):
        fresh = Grammar(WORDS, END)
        ids = _ids(text)
        for end in range(len(ids) + 1):
            assert (grammar(ids[:end]) == fresh(ids[:end])).all()


def test_the_official_labels_may_be_written() -> None:
    folder = Path.home() / ".cache" / "unrender" / "data"
    files = [path for path in sorted(folder.glob("im2latex-*-validate/labels.tsv")) if path.exists()]
    if not files:
        pytest.skip("the official labels are not at hand")
    lines = [line for path in files for line in path.read_text().splitlines()[:1500]]
    labels = [line.split("\t")[1].split() for line in lines]
    vocabulary = ["<pad>", "</s>", *sorted({token for label in labels for token in label})]
    places = {token: place for place, token in enumerate(vocabulary)}
    grammar = Grammar(vocabulary, END)
    sound = [label for label in labels if latex.check(" ".join(label)) is None]
    fine = sum(
        all(grammar([places[token] for token in label[:place]])[places[token]] for place, token in enumerate(label))
        for label in sound
    )
    assert fine >= 0.99 * len(sound)


def test_a_model_that_has_learnt_nothing_still_writes_well_formed_formulas() -> None:
    import torch
    from PIL import Image, ImageDraw

    from unrender import tasks
    from unrender.engines.torch_engine import TorchEngine
    from unrender.models.formula import formula
    from unrender.reading.reader import Reader
    from unrender.reading.systems import Options
    from unrender.reading.text import TextSystem
    from unrender.tokens import LatexTokenizer
    from unrender.training.text_runs import fresh

    tokenizer = LatexTokenizer([word for word in WORDS if not word.startswith("<")])
    config = formula(tokenizer.size)
    picture = Image.new("L", (60, 30), 255)
    ImageDraw.Draw(picture).rectangle([10, 8, 40, 20], 0)
    texts = set()
    for seed in range(3):
        module = fresh(config, seed)
        with torch.no_grad():
            module.decoder.tokens.weight.mul_(3)
        reader = Reader(TextSystem(config, TorchEngine(config, module.eval()), tokenizer, tasks.find("formula")))
        for beams in (1, 3):
            document = reader.read(picture, Options(beams=beams, max_tokens=30))
            if document.status.kind == "complete":
                assert latex.check(document.text) is None, document.text
            texts.add(document.text)
    assert len(texts) > 1
