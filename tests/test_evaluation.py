"""Evaluation: what is read, how it is compared, what is printed and what the report shows."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unrender import tasks
from unrender.documents import Block, Document, Page, Status
from unrender.errors import UnrenderError
from unrender.evaluation import describe, evaluate
from unrender.evaluation.datasets import Dataset, Example, open_dataset
from unrender.evaluation.report import bars, write_report
from unrender.evaluation.scoring import judge
from unrender.reading.systems import Options

KEYS = [
    "wer", "wer_visible", "cer", "bleu", "edit", "exact", "exp_rate", "exp_rate_1", "exp_rate_2", "exp_rate_3", "valid",
    "n", "seconds_per_image", "characters_per_second",
]  # fmt: skip


@dataclass
class KnowingReader:
    """Answers by the name of the picture; what it does not know it fails to read."""

    answers: dict[str, tuple[str, float]]
    task: tasks.Task = tasks.TASKS["formula"]
    name: str = "fake"
    beams: int = 3
    asked: list[str] = field(default_factory=list)

    def read_many(self, sources, *, batch=8, options=None):
        self.options = options
        for source in sources:
            self.asked.append(source.name)
            if source.name not in self.answers:
                yield Document(pages=(Page(number=1, width=0, height=0, status=Status("failed", reason="torn")),))
                continue
            text, sure = self.answers[source.name]
            block = Block(kind="formula", text=text, confidence=sure)
            yield Document(pages=(Page(number=1, width=9, height=9, blocks=(block,)),))


def make_dataset(folder: Path, targets: list[str], kind: str = "labels") -> Dataset:
    image = Image.new("L", (60, 30), 255)
    ImageDraw.Draw(image).rectangle((10, 10, 30, 20), fill=0)
    image.save(folder / "picture.png")
    examples = tuple(Example(folder / "picture.png", target, f"{place}.png") for place, target in enumerate(targets))
    return Dataset(folder, kind, examples)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """A folder with labels.tsv and one picture."""
    make_dataset(tmp_path, ["x"])
    (tmp_path / "labels.tsv").write_text("".join(f"picture.png\t{target}\n" for target in ["x + 1", "y", "z _ { 1 }"]))
    return tmp_path


def test_the_figures_are_those_of_the_metrics(tmp_path):
    dataset = make_dataset(tmp_path, ["a b c d", "\\frac { 1 } { 2 }", "x \\, y"])
    reader = KnowingReader({"0.png": ("a b c x", 0.5), "1.png": ("\\frac { 1", 0.1), "2.png": ("x y", 0.9)})
    summary = evaluate(reader, dataset).summary()
    assert list(summary) == KEYS
    assert summary["n"] == 3
    assert summary["wer"] == pytest.approx((1 + 4 + 1) / (4 + 7 + 3), abs=1e-6)
    assert summary["wer_visible"] == pytest.approx((1 + 4) / (4 + 7 + 2), abs=1e-6)
    assert summary["edit"] == pytest.approx(1 - (1 + 4 + 1) / (4 + 7 + 3), abs=1e-6)
    assert (summary["exact"], summary["exp_rate"], summary["exp_rate_1"]) == (
        0.0,
        pytest.approx(1 / 3, abs=1e-6),
        pytest.approx(2 / 3, abs=1e-6),
    )
    assert summary["valid"] == pytest.approx(2 / 3, abs=1e-6)


def test_labels_are_compared_as_they_are_and_only_white_space_is_folded(tmp_path):
    dataset = make_dataset(tmp_path, ["x  \\le 1", "x \\le 1"])
    result = evaluate(KnowingReader({"0.png": ("x \\le 1", 1.0), "1.png": ("x \\leq 1", 1.0)}), dataset)
    assert [case.errors for case in result.cases] == [0, 1]
    assert result.comparison == "tokens"


def test_unified_comparison_forgives_spelling_and_nothing_else(tmp_path):
    dataset = make_dataset(tmp_path, ["x \\le \\frac 1 2", "\\left( x \\right)"])
    reader = KnowingReader({"0.png": ("x \\leq \\frac { 1 } { 2 }", 1.0), "1.png": ("( x )", 1.0)})
    assert [case.errors for case in evaluate(reader, dataset, comparison="unified").cases] == [0, 2]


def test_strokes_are_compared_by_their_symbols(tmp_path):
    dataset = make_dataset(tmp_path, ["\\operatorname { s i n } ( x )", "x"], kind="inkml")
    reader = KnowingReader({"0.png": ("\\mathrm { s i n } \\left( x \\right)", 1.0), "1.png": ("{ x", 1.0)})
    result = evaluate(reader, dataset)
    assert result.comparison == "symbols"
    assert [case.errors for case in result.cases] == [0, 1]
    assert result.summary()["valid"] == 0.5


def test_a_picture_that_cannot_be_read_counts_as_read_empty(tmp_path):
    dataset = make_dataset(tmp_path, ["a b", "c"])
    result = evaluate(KnowingReader({"1.png": ("c", 1.0)}), dataset)
    assert result.summary()["wer"] == pytest.approx(2 / 3, abs=1e-6)
    assert result.summary()["valid"] == 0.5
    assert result.statuses() == {"failed": 1, "complete": 1}


def test_long_formulas_are_read_first_and_the_cases_keep_their_order(tmp_path):
    dataset = make_dataset(tmp_path, ["a", "a b c", "a b"])
    reader = KnowingReader({f"{place}.png": ("a", 1.0) for place in range(3)})
    result = evaluate(reader, dataset, options=Options(beams=2))
    assert reader.asked == ["1.png", "2.png", "0.png"]
    assert [case.example.name for case in result.cases] == ["0.png", "1.png", "2.png"]
    assert (reader.options.beams, result.beams) == (2, 2)
    assert evaluate(reader, dataset).beams == 3


def test_pictures_are_opened_one_after_the_other(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(Example, "image", property(lambda example: opened.append(example.name) or example.path))
    dataset = make_dataset(tmp_path, ["a"] * 5)
    reader = KnowingReader({f"{place}.png": ("a", 1.0) for place in range(5)})
    counts = []

    def watch(cases, total):
        for case in cases:
            counts.append((len(opened), total))
            yield case

    evaluate(reader, dataset, progress=watch)
    assert counts == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_other_tasks_have_their_own_metrics(tmp_path):
    dataset = make_dataset(tmp_path, ["<s_total>9</s_total>"])
    reader = KnowingReader({"0.png": ("<s_total>9</s_total>", 1.0)}, task=tasks.find("receipt"))
    summary = evaluate(reader, dataset).summary()
    assert set(summary) == {"field_f1", "tree_accuracy", "n", "seconds_per_image", "characters_per_second"}
    assert summary["field_f1"] == 1.0


def receipts(folder: Path, *truths: dict[str, str]) -> Dataset:
    """A folder as SROIE gives them; every picture shows two words."""
    folder.mkdir()
    for number, truth in enumerate(truths):
        make_dataset(folder, ["x"])
        (folder / "picture.png").rename(folder / f"{number}.png")
        lines = [{"text": "TOTAL 9.90", "box": [10, 10, 50, 20]}]
        (folder / f"{number}.json").write_text(json.dumps({"fields": truth, "lines": lines}))
    return open_dataset(folder)


def test_a_model_that_writes_tags_is_measured_on_receipts_too(tmp_path):
    dataset = receipts(tmp_path / "set", {"total": "9.90", "date": "1/2/03"}, {"total": "8.00", "date": ""})
    assert dataset.examples[0].words.texts == ["TOTAL", "9.90"]
    answers = {"0": ("<s_total>9.90</s_total><s_date>1/2/04</s_date>", 0.9), "1": ("<s_total>8.00</s_total>", 0.8)}
    result = evaluate(KnowingReader(answers, task=tasks.find("receipt")), dataset)
    assert result.comparison == "record"
    summary = result.summary()
    assert summary["field_f1"] == pytest.approx(2 * 2 / (3 + 3), abs=1e-6)
    assert (summary["total_f1"], summary["date_f1"], summary["words"]) == (1.0, 0.0, "given")


def test_a_model_that_labels_words_is_measured_on_tagged_truth_too(tmp_path):
    dataset = make_dataset(tmp_path, ["<s_total>9</s_total><s_date>1/2/03</s_date>"])
    parts = (Block(kind="total", text="9", confidence=0.8), Block(kind="date", text="4", confidence=0.3))
    block = Block(kind="fields", text="total: 9\ndate: 4", children=parts, confidence=0.5)

    class Labelling(KnowingReader):
        def read_many(self, sources, *, batch=8, options=None):
            yield from (Document(pages=(Page(number=1, width=9, height=9, blocks=(block,)),)) for _ in sources)

    result = evaluate(Labelling({}, task=tasks.find("receipt")), dataset)
    assert result.summary()["field_f1"] == 0.5
    assert [(one.name, one.right) for one in judge(result.cases)[0]] == [("total", True), ("date", False)]


@pytest.mark.parametrize(
    ("task", "targets", "comparison", "sentence"),
    [
        ("receipt", ["9.90"], None, "finds fields, but the truth of .* is plain text"),
        ("formula", ["<s_total>9</s_total>"], None, "reads the task formula, but the truth of .* is fields"),
        ("receipt", ["<s_menu>tea</s_menu>"], None, "finds total, but the truth has menu: they share no field"),
        ("receipt", ["<s_total>9</s_total>"], "symbols", "finds fields; compare it as tree, record"),
        ("formula", ["x"], "tree", "writes text; compare it as tokens, unified, symbols"),
    ],
)
def test_truth_that_does_not_fit_is_said_in_one_sentence(tmp_path, task, targets, comparison, sentence):
    reader = KnowingReader({"0.png": ("<s_total>9</s_total>", 1.0)}, task=tasks.find(task))
    with pytest.raises(UnrenderError, match=sentence):
        evaluate(reader, make_dataset(tmp_path, targets), comparison=comparison)


def test_receipts_with_words_are_text_for_who_reads_pages_but_not_for_who_reads_formulas(tmp_path):
    dataset = receipts(tmp_path / "set", {"total": "9.90"})
    reader = KnowingReader({"0": ("TOTAL 9.90", 1.0)}, task=tasks.find("line"))
    assert evaluate(reader, dataset).summary()["cer"] == 0.0
    with pytest.raises(UnrenderError, match="is fields"):
        evaluate(KnowingReader({}), dataset)


def test_several_processes_give_the_figures_of_one(run, tiny_folder, labels):
    outs = [json.loads(run("evaluate", tiny_folder, labels, "--json", "--workers", count).out) for count in (1, 2)]
    for out in outs:
        del out["seconds_per_image"], out["characters_per_second"]
    assert outs[0] == outs[1]


def test_what_is_wrong_with_a_model_is_said_by_its_processes_too(run, labels):
    ran = run("evaluate", "no-such-model", labels, "--workers", 2)
    assert ran.code == 1
    assert len(ran.errors) == 1
    assert "no-such-model" in ran.errors[0]


def test_the_table_has_an_interval_around_each_value(tmp_path):
    dataset = make_dataset(tmp_path, ["a b c d", "a b", "c", "d e f"])
    reader = KnowingReader({f"{place}.png": ("a b", 0.5) for place in range(4)})
    result = evaluate(reader, dataset)
    lines = describe(result, result.intervals(np.random.default_rng(0))).splitlines()
    assert [line.split()[0] for line in lines] == KEYS
    value, low, high = (float(number) for number in re.findall(r"\d+\.\d+", lines[0]))
    assert low < value < high


def test_the_report_is_one_page_with_plots_pictures_and_marked_differences(tmp_path):
    dataset = make_dataset(tmp_path, ["a < c", "b", "c & d"])
    reader = KnowingReader({"0.png": ("a < b", 0.95), "1.png": ("b", 0.9)})
    result, rng = evaluate(reader, dataset), np.random.default_rng(0)
    path = write_report(result, result.intervals(rng), tmp_path / "new" / "folder", rng)
    page = path.read_text()
    assert page.count("<svg") == 2
    assert page.count('src="data:image/png;base64,') == 2 + 3  # the wrong ones, then random ones
    assert "a &lt; <del>c</del>" in page
    assert "a &lt; <ins>b</ins>" in page
    assert "2.png: 3 errors in 3 tokens, failed" in page
    assert "0.95" in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert page.index("2.png") < page.index("0.png")  # the worst first


def test_a_report_that_cannot_be_written_is_said(run, tiny_folder, labels):
    ran = run("evaluate", tiny_folder, labels, "--workers", 1, "--report", labels / "labels.tsv")
    assert ran.code == 1
    assert "cannot be written" in ran.errors[0]


def test_bars_leave_a_gap_for_what_is_not_known():
    chart = bars(["a", "b"], [0.5, None], ["n = 1", "n = 0"], horizontal="x", vertical="y", marks=[0.25, 0.75])
    assert chart.count("<rect") == 1
    assert chart.count("#c33") == 2


def test_json_is_one_flat_object_with_exactly_the_documented_keys(run, tiny_folder, labels):
    ran = run("evaluate", tiny_folder, labels, "--workers", 1, "--json", "--beam", 2)
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    summary = json.loads(ran.out)
    assert list(summary) == KEYS
    assert summary["n"] == 3
    documented = (Path(__file__).parent.parent / "docs/evaluation.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", documented, flags=re.MULTILINE)[: len(KEYS)] == KEYS


def test_a_limit_and_a_seed_choose_what_is_read(run, tiny_folder, labels):
    outs = [
        json.loads(run("evaluate", tiny_folder, labels, "--workers", 1, "--json", "--limit", 2, "--seed", seed).out)
        for seed in (4, 4)
    ]
    for out in outs:
        assert out.pop("seconds_per_image") > 0
        assert out.pop("characters_per_second") >= 0
    assert outs[0] == outs[1]
    assert outs[0]["n"] == 2


def test_the_command_says_what_is_wrong(run, tiny_folder, labels):
    assert (
        "There is no comparison called looks"
        in run("evaluate", tiny_folder, labels, "--workers", 1, "--compare", "looks").errors[0]
    )
    assert "there is no such file or folder" in run("evaluate", tiny_folder, labels / "nowhere").errors[0]
    assert run("evaluate", tiny_folder, labels, "--workers", 1, "--limit", 0).code == 2
    (labels / "picture.png").write_bytes(b"torn")
    ran = run("evaluate", tiny_folder, labels, "--workers", 1)
    assert ran.code == 0
    assert "3 pictures could not be read; they count as empty readings" in ran.err
