"""The command line as its users meet it."""

import io
import json
import sys

import pytest
from PIL import Image

import unrender
from unrender.models import PRESETS
from unrender.reading import sources

FIELDS = {"name", "task", "parameters", "bytes", "licence", "where", "seed"}


def test_one_file_gives_its_result_and_nothing_else(run, tiny_folder, picture):
    ran = run("read", picture, "-m", tiny_folder)
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert ran.out.strip()
    assert "Error" not in ran.err


def test_several_files_are_each_named(run, tiny_folder, picture):
    other = picture.with_name("other.png")
    other.write_bytes(picture.read_bytes())
    ran = run("read", picture, other, "-m", tiny_folder)
    names = [line.partition(": ")[0] for line in ran.out.splitlines()]
    assert (ran.code, names) == (0, [str(picture), str(other)])


def test_a_folder_is_read_file_by_file(run, tiny_folder, picture):
    ran = run("read", picture.parent, "-m", tiny_folder)
    assert ran.code == 0
    assert ran.out


def test_a_dash_reads_standard_input(run, tiny_folder, picture, monkeypatch):
    expected = run("read", picture, "-m", tiny_folder).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(picture.read_bytes())))
    assert run("read", "-", "-m", tiny_folder).out == expected


def test_json_holds_the_whole_document_in_one_line_a_file(run, tiny_folder, picture):
    ran = run("read", picture, picture, "-m", tiny_folder, "--json")
    documents = [json.loads(line) for line in ran.out.splitlines()]
    assert [document["source"] for document in documents] == [str(picture)] * 2
    [token, *_] = documents[0]["pages"][0]["blocks"][0]["tokens"]
    assert 0 < token["probability"] <= 1
    assert token["box"]["x0"] < token["box"]["x1"]
    assert len(token["alternatives"]) == 3


def test_the_ending_of_the_output_gives_the_format(run, tiny_folder, picture, tmp_path):
    ran = run("read", picture, "-m", tiny_folder, "-o", tmp_path / "out.jsonl")
    assert (ran.code, ran.out) == (0, "")
    assert json.loads((tmp_path / "out.jsonl").read_text())["task"] == "formula"
    run("read", picture, "-m", tiny_folder, "-o", tmp_path / "out.tex")
    whole = (tmp_path / "out.tex").read_text()
    assert whole.startswith("\\documentclass")
    assert run("read", picture, "-m", tiny_folder).out.strip() in whole
    run("read", picture, "-m", tiny_folder, "-o", tmp_path / "out.docx")
    assert (tmp_path / "out.docx").read_bytes().startswith(b"PK")


def test_a_folder_as_output_gets_one_file_for_each_input(run, tiny_folder, picture, tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    other = picture.with_name("other.png")
    other.write_bytes(picture.read_bytes())
    run("read", picture, other, "-m", tiny_folder, "-o", out)
    assert sorted(path.name for path in out.iterdir()) == ["good.tex", "other.tex"]


def test_n_best_prints_readings_with_their_confidence(run, tiny_folder, picture):
    lines = run("read", picture, "-m", tiny_folder, "--n-best", 3).out.splitlines()
    confidences = [float(line.partition("  ")[0]) for line in lines]
    assert len(confidences) == 3
    assert confidences == sorted(confidences, reverse=True)


def test_an_overlay_is_as_large_as_the_picture(run, tiny_folder, picture, tmp_path):
    ran = run("read", picture, "-m", tiny_folder, "--overlay", tmp_path / "seen.png")
    assert ran.code == 0
    with Image.open(tmp_path / "seen.png") as seen, Image.open(picture) as original:
        assert seen.size == original.size
        assert len(seen.getcolors(10_000) or []) > len(original.getcolors() or [])


def test_pages_of_a_pdf_can_be_chosen(run, tiny_folder, make_pdf, tmp_path):
    (tmp_path / "three.pdf").write_bytes(make_pdf(pages=3))
    ran = run("read", tmp_path / "three.pdf", "-m", tiny_folder, "--pages", "2-3", "--json")
    assert [page["number"] for page in json.loads(ran.out)["pages"]] == [2, 3]


def test_a_blank_page_is_noted_on_standard_error(run, tiny_folder, tmp_path):
    Image.new("L", (50, 50), 255).save(tmp_path / "blank.png")
    ran = run("read", tmp_path / "blank.png", "-m", tiny_folder)
    assert ran.code == 0
    assert f"Note: {tmp_path / 'blank.png'}: there is nothing to read on it." in ran.err


def test_a_watched_folder_is_read_as_pictures_appear(run, tiny_folder, picture, tmp_path, monkeypatch):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    beats = iter([lambda: (inbox / "new.png").write_bytes(picture.read_bytes()), lambda: None, lambda: None])

    def sleep(seconds):
        beat = next(beats, None)
        if beat is None:
            raise KeyboardInterrupt
        beat()

    monkeypatch.setattr("time.sleep", sleep)
    ran = run("read", "--watch", inbox, "-m", tiny_folder)
    assert ran.out.startswith(f"{inbox / 'new.png'}: ")
    assert ran.code == 0


def test_the_clipboard_is_read(run, tiny_folder, picture, monkeypatch):
    monkeypatch.setattr(sources, "clipboard", lambda: sources.Input(picture.read_bytes(), "clipboard"))
    ran = run("read", "--clipboard", "-m", tiny_folder)
    assert ran.out == run("read", picture, "-m", tiny_folder).out


def test_models_are_listed_with_exact_counts_and_without_torch(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = run("models", "--json")
    entries = {entry["name"]: entry for entry in json.loads(ran.out)}
    assert ran.code == 0
    assert all(set(entry) == FIELDS for entry in entries.values())
    assert set(PRESETS) <= set(entries)
    counts = {name: entries[name]["parameters"] for name in entries}
    assert counts["donut-base"] == 201_852_024
    assert counts["nougat-base"] == 348_687_992
    assert counts["nougat-small"] == 247_383_672
    assert counts["trocr-base"] == 333_331_200
    assert counts["trocr-small"] == 61_596_672
    assert counts["swimnet"] == 296_105_610


def test_the_table_of_models_shows_every_name(run):
    ran = run("models")
    assert all(name in ran.out for name in PRESETS)


def test_get_prints_the_folder_of_a_model(run, tiny_folder):
    assert run("get", tiny_folder).out == f"{tiny_folder}\n"


@pytest.mark.parametrize("arguments", [["read"], ["read", "--no-such-option"], ["dance"], ["read", "x", "--beam", "0"]])
def test_wrong_usage_exits_with_two(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""


def test_the_version_is_printed(run):
    assert run("--version").out.strip() == unrender.__version__


@pytest.mark.parametrize("verb", ["read", "models", "train", "evaluate", "export", "get", "data", "bench", "serve"])
def test_every_verb_explains_itself(run, verb):
    ran = run(verb, "--help")
    assert ran.code == 0
    assert "Usage" in ran.out


def test_a_missing_extra_is_one_sentence(run, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("unrender.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    ran = run("serve")
    assert ran.code == 1
    assert ran.err == "Error: This needs fastapi; install it with: pip install 'unrender[serve]'\n"


def test_a_listed_task_without_a_model_says_what_to_give(run, picture, monkeypatch):
    monkeypatch.setattr("unrender.checkpoints.embedded_names", lambda: ())
    ran = run("read", picture, "-t", "word")
    assert ran.code == 1
    assert ran.err == (
        "Error: unrender has no model of its own for the task word; give one with --model, such as recognizer.\n"
    )
    assert run("read", picture, "-t", "labels").errors == [
        "Error: unrender has no model of its own for the task labels; give one with --model."
    ]


def test_training_on_corrections_says_where_they_would_be(run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran = run("train", "formula", "--corrections")
    assert ran.code == 1
    assert ran.errors == [
        f"Error: {tmp_path / 'unrender' / 'corrections' / 'formula'}: no corrections of formula are kept here; switch "
        "that on at the bottom of the web page (unrender serve), or give an exported folder with --data."
    ]
