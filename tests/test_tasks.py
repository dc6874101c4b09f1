"""Tasks as values."""

import pytest

from unrender import tasks
from unrender.errors import ConfigError
from unrender.formats.json import parse_tags

TAGGED = "<s_total>3.50</s_total><s_menu><s_nm>tea</s_nm><sep/><s_nm>milk</s_nm></s_menu>"

PAGE = "one two three four five\n\n\\[a + b = c + d\\]\n\n| one | two | three |"
OTHER_PAGE = "\\[ a + x = c + y\\]\n\none ten three four six\n\n| 1 | 2 | 3 |"


def test_every_task_reads_empty_text_without_complaint():
    for task in tasks.TASKS.values():
        assert len(task.parse("")) == 1


def test_every_metric_calls_equal_texts_perfect():
    for task in tasks.TASKS.values():
        text, other = (PAGE, OTHER_PAGE) if task.notation == "markdown" else ("one two three four five", "<s_x>y</s_x>")
        perfect = {name: round(metric([text], [text]).value, 1) for name, metric in task.metrics.items()}
        worst = {name: round(metric([text], [other]).value, 1) for name, metric in task.metrics.items()}
        fields, others = parse_tags(TAGGED), parse_tags("<s_x>y</s_x>")
        perfect |= {name: metric([fields], [fields]).value for name, metric in task.field_metrics.items()}
        worst |= {name: metric([fields], [others]).value for name, metric in task.field_metrics.items()}
        assert perfect
        assert set(perfect.values()) <= {0.0, 1.0}
        assert all(perfect[name] != worst[name] for name in perfect), task.name


def test_a_part_of_a_page_that_is_not_read_at_all_counts():
    assert tasks.find("page").metrics["math_normalised_distance"]([PAGE], ["one two"]).value == 1.0


def test_a_task_is_measured_by_its_text_or_by_its_fields():
    assert all(bool(task.metrics) != bool(task.field_metrics) for task in tasks.TASKS.values())


def test_donut_tags_become_fields():
    [block] = tasks.find("receipt").parse(TAGGED)
    assert block.fields == {"total": "3.50", "menu": [{"nm": "tea"}, {"nm": "milk"}]}
    assert block.text == TAGGED


def test_a_formula_is_one_block_of_its_kind():
    [block] = tasks.find("formula").parse(" a + b ")
    assert (block.kind, block.text) == ("formula", "a + b")


def test_the_published_prompts_are_spelled_exactly():
    prompts = {name: task.prompt for name, task in tasks.TASKS.items() if task.prompt}
    assert prompts == {
        "receipt": "<s_cord-v2>",
        "ticket": "<s_zhtrainticket>",
        "class": "<s_rvlcdip>",
        "question": "<s_docvqa><s_question>{question}</s_question><s_answer>",
    }
    assert tasks.find("question").tags == ("<s_docvqa>", "<s_question>", "</s_question>", "<s_answer>")


def test_a_question_is_asked_in_lower_case():
    prompt = tasks.find("question").prompt_text("What IS the total?")
    assert prompt == "<s_docvqa><s_question>what is the total?</s_question><s_answer>"


def test_an_unknown_task_suggests_a_near_one():
    with pytest.raises(ConfigError, match="no task called formla; did you mean formula"):
        tasks.find("formla")
    with pytest.raises(ConfigError, match="there are formula, word"):
        tasks.find("qqq")


def test_words_are_no_formula():
    unlike = tasks.find("formula").unlike
    assert unlike is not None
    assert unlike("T h e ~ a b o v e ~ a p p l i e s ~ t o ~ t h e ~ c a s e")
    assert not unlike("\\mathrm { s p e e d } = \\frac { \\mathrm { d i s t a n c e } } { \\mathrm { t i m e } }")
    assert not unlike("a b c")


def test_pages_are_compared_however_their_formulas_are_spelled():
    distance = tasks.find("page").metrics["normalised_distance"]
    written = (
        "A line of text, long enough to count, with $p_i$ in it, and then\n\n$$\na_i &= b^2 \\tag{3} \\\\\nc &= 1\n$$"
    )
    tokens = written.replace("p_i", "p _ { i }").replace("a_i", "a _ { i }").replace("b^2", "b ^ { 2 }")
    assert distance([tokens], [written]).value == 0
    assert distance([tokens], [written.replace("b^2", "b^3")]).value > 0


def test_rows_of_a_display_count_one_by_one_however_they_are_wrapped():
    distance = tasks.find("page").metrics["math_normalised_distance"]
    together = "Text.\n\n$$\n\\begin{align}\na & = b \\tag{1} \\\\\nc & = d \\tag{2}\n\\end{align}\n$$"
    apart = "Text.\n\n$$\na = b \\tag{1}\n$$\n\n$$\nc = d \\tag{2}\n$$"
    assert distance([apart], [together]).value == 0
    assert distance([apart], [together.replace("tag{2}", "tag{3}")]).value > 0


def test_a_number_alone_is_text_and_a_letter_is_not():
    text = tasks.find("page").metrics["text_normalised_distance"]
    page = "Some 45% of 1,153 pages have at least 8.7 formulas each."
    assert text([page], ["Some $45\\%$ of $1{,}153$ pages have at least $8.7$ formulas each."]).value == 0
    assert text(["Some part a of it is here."], ["Some part $a$ of it is here."]).value > 0
