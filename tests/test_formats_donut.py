import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender import formats
from unrender.documents import Json
from unrender.errors import NotationError
from unrender.formats.json import MAX_DEPTH, parse_tags, write_tags

RECEIPT = "<s_menu><s_nm>Tea</s_nm><s_price>2.10</s_price><sep/><s_nm>Cake</s_nm></s_menu><s_total>5</s_total>"
HOSTILE = 1_000_000  # characters
SECONDS = 10.0  # of this process; quadratic time would take minutes

PIECES = ["<s_a>", "</s_a>", "<s_b>", "</s_b>", "<sep/>", "<x/>", "t", " ", "<", ">"]

relaxed = settings(deadline=None, max_examples=60)  # a busy machine is no failure
words = st.text(st.characters(blacklist_characters="<>", blacklist_categories=["Cs"]), max_size=8).map(str.strip)
keys = st.text(st.characters(blacklist_characters="<>", blacklist_categories=["Cs"]), min_size=1, max_size=4)
objects = st.recursive(
    st.dictionaries(keys, words, min_size=1, max_size=3),
    lambda inner: st.dictionaries(
        keys, words | inner | st.lists(inner, min_size=1, max_size=3) | st.lists(words, min_size=1, max_size=3),
        min_size=1, max_size=3,
    ),
    max_leaves=6,
)  # fmt: skip


def test_tags_become_objects_lists_and_texts():
    assert parse_tags(RECEIPT) == {"menu": [{"nm": "Tea", "price": "2.10"}, {"nm": "Cake"}], "total": "5"}
    assert write_tags(parse_tags(RECEIPT)) == RECEIPT


def test_text_without_tags_is_a_text_sequence():
    assert parse_tags(" just text ") == {"text_sequence": "just text"}
    assert write_tags({"text_sequence": "just text"}) == "just text"


def test_a_key_may_be_nested_in_itself():
    assert parse_tags("<s_a><s_a>x</s_a><s_b>y</s_b></s_a>") == {"a": {"a": "x", "b": "y"}}


def test_values_keep_their_line_breaks():
    assert parse_tags("<s_address>1 High Street\nOxford</s_address>") == {"address": "1 High Street\nOxford"}


def test_keys_may_hold_characters_that_mean_something_in_patterns():
    assert parse_tags("<s_a.*(>1</s_a.*(><s_c++>2</s_c++>") == {"a.*(": "1", "c++": "2"}


def test_a_list_of_one_is_its_element():
    value = {"menu": [{"nm": "Tea"}], "tags": ["hot"]}
    assert parse_tags(write_tags(value)) == {"menu": {"nm": "Tea"}, "tags": "hot"}


def test_categories_are_tags_of_their_own():
    assert parse_tags("<s_class><advertisement/></s_class>") == {"class": "advertisement"}


def test_a_key_that_comes_twice_has_a_list():
    assert parse_tags("<s_a>1</s_a><s_a>2</s_a>") == {"a": ["1", "2"]}


def test_a_forgotten_end_loses_nothing():
    assert parse_tags("<s_nm>Tea<s_price>2</s_price><s_total>2</s_total>") == {"nm": "Tea", "price": "2", "total": "2"}


def test_a_truncated_text_keeps_its_structure():
    assert parse_tags("<s_menu><s_nm>Tea</s_nm><s_price>2.1") == {"menu": {"nm": "Tea", "price": "2.1"}}


def test_stray_ends_are_ignored():
    assert parse_tags("</s_b><s_a>1</s_b></s_a></s_a>") == {"a": "1"}


def test_numbers_and_nothing_become_text():
    assert write_tags({"n": 3, "t": True, "x": None}) == "<s_n>3</s_n><s_t>True</s_t><s_x></s_x>"


@pytest.mark.parametrize("value", [{"a": [["x"]]}, {"": "x"}, {"a<b": "x"}, {"a": "<sep/>"}, {"a": "<s_b>"}])
def test_what_tags_cannot_express_is_refused(value: Json):
    with pytest.raises(NotationError, match="cannot express"):
        write_tags(value)


@relaxed
@given(objects)
def test_what_was_read_from_tags_is_written_and_read_as_the_same(value: Json):
    read = parse_tags(write_tags(value))
    assert parse_tags(write_tags(read)) == read


@relaxed
@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_any_text_parses(text: str):
    parsed = parse_tags(text)
    assert isinstance(parsed, dict | list)


@relaxed
@given(objects)
def test_well_formed_tags_parse_as_in_transformers(value: Json):
    """The reference has known defects with nested equal keys, line breaks and patterns; keys here avoid them."""
    from transformers import DonutProcessor

    simple = _distinct(value)
    text = write_tags(simple)
    reference = DonutProcessor.token2json(_Vocabulary(), text, added_vocab={})
    assert parse_tags(text) == reference


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["<s_a>", "<s_a>1</s_a>", "x</s_z>", "<s_", "<s_a><sep/>", "<sep/>", "<s_a>x", "<s_aaaaaaa", "</s_a>", "<x/>"],
)
def test_a_megabyte_of_hostile_text_takes_no_longer_than_its_length(piece: str):
    text = (piece * (HOSTILE // len(piece) + 1))[:HOSTILE]
    start = time.process_time()
    parse_tags(text)
    assert time.process_time() - start < SECONDS


def test_nesting_deeper_than_the_limit_is_flattened():
    text = "<s_a>" * 5000 + "x" + "</s_a>" * 5000
    depth, value = 0, parse_tags(text)
    while isinstance(value, dict) and "a" in value:
        depth, value = depth + 1, value["a"]
    assert depth == MAX_DEPTH


def test_the_donut_notation_reads_and_writes_documents():
    document = formats.parse(RECEIPT, "donut")
    assert document.blocks[0].fields == parse_tags(RECEIPT)
    assert formats.write(document, "donut") == RECEIPT
    assert formats.parse(formats.write(document, "json"), "json").blocks[0].fields == parse_tags(RECEIPT)


class _Vocabulary:
    """As much of a processor as its method needs."""

    def token2json(self, *arguments: object, **named: object) -> object:
        from transformers import DonutProcessor

        return DonutProcessor.token2json(self, *arguments, **named)


def _distinct(value: Json, path: str = "k") -> Json:
    """Give every key a name of its own, and every text some plain content."""
    if isinstance(value, dict):
        return {f"{path}{place}": _distinct(item, f"{path}{place}x") for place, item in enumerate(value.values())}
    if isinstance(value, list):
        return [_distinct(item, path) for item in value]
    return "".join(character for character in str(value) if character.isalnum() and character.isascii()) or "v"
