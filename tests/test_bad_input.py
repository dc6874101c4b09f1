"""Bad input: one clear sentence, exit code 1, and the other files of the same call are still read."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

ENCRYPTED = (
    b"/Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <" + b"ab" * 32 + b"> /U <" + b"cd" * 32 + b">"
)  # fmt: skip


@pytest.fixture
def bad_files(tmp_path: Path, picture: Path, make_pdf: Callable[..., bytes], make_png_header) -> dict[str, Path]:
    """One file for each way in which a file can be bad."""
    folder = tmp_path / "bad"
    folder.mkdir()
    png = picture.read_bytes()
    Image.open(picture).convert("RGB").save(folder / "whole.jpg")
    contents = {
        "empty.png": b"",
        "text.png": b"these are words, not pixels\n",
        "truncated.png": png[:-40],
        "truncated.jpg": (folder / "whole.jpg").read_bytes()[:500],
        "bomb.png": make_png_header(60_000, 60_000),
        "large.png": make_png_header(9_000, 9_000),
        "damaged.pdf": make_pdf()[:60] + b"\0" * 40,
        "no-page.pdf": make_pdf(pages=0),
        "encrypted.pdf": make_pdf(encrypt=ENCRYPTED),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    Image.new("L", (1, 1)).save(folder / "dot.png")
    (folder / "folder").mkdir()
    return {path.name: path for path in folder.iterdir()} | {"missing.png": folder / "missing.png"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.png", "there is no such file."),
        ("folder", "there is no image or PDF in this folder."),
        ("empty.png", "the file is empty; give an image or a PDF."),
        ("text.png", "this is neither a PDF nor an image in a known format"),
        ("truncated.png", "the image is damaged or incomplete"),
        ("truncated.jpg", "the image is damaged or incomplete"),
        ("dot.png", "1 x 1 pixels are too few to read; each side needs at least 4."),
        ("bomb.png", "exceeds the limit of 80,000,000 pixels"),
        ("large.png", "9000 x 9000 pixels exceed the limit of 80,000,000; shrink the image."),
        ("encrypted.pdf", "the PDF is encrypted; remove its password first."),
        ("no-page.pdf", "the PDF has no page."),
        ("damaged.pdf", "the PDF is damaged and cannot be opened."),
    ],
)
def test_a_bad_file_is_one_sentence_and_the_others_are_read(run, tiny_folder, picture, bad_files, name, sentence):
    ran = run("read", bad_files[name], picture, "-m", tiny_folder)
    assert ran.code == 1
    assert ran.out.startswith(f"{picture}: ")
    assert ran.out.count("\n") == 1
    [error] = ran.errors
    assert error.startswith(f"Error: {bad_files[name]}: ")
    assert sentence in error
    assert [line for line in ran.err.splitlines() if line != error and not line.startswith(f"Note: {picture}")] == []


def test_all_bad_files_at_once_leave_the_good_one(run, tiny_folder, picture, bad_files):
    bad_files.pop("whole.jpg")
    ran = run("read", *bad_files.values(), picture, "-m", tiny_folder)
    assert ran.code == 1
    assert len(ran.errors) == len(bad_files)
    assert ran.out.startswith(f"{picture}: ")


def test_an_unknown_model_suggests_a_near_one(run, picture):
    ran = run("read", picture, "-m", "nougat-smal")
    assert (ran.code, ran.out) == (1, "")
    [error] = ran.errors
    assert "nougat-small" in error
    assert ran.err.count("\n") == 1


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "model"))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "weights.safetensors"])
def test_a_model_folder_with_a_missing_file_is_named(run, tiny_folder, picture, tmp_path, name):
    folder = copied(tiny_folder, tmp_path)
    (folder / name).unlink()
    ran = run("read", picture, "-m", folder)
    assert (ran.code, ran.out) == (1, "")
    assert name in ran.errors[0]
    assert ran.err.count("\n") == 1


def test_wrong_shapes_are_named(run, tiny_folder, picture, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    weights = load_file(folder / "weights.safetensors")
    weights["decoder.tokens.weight"] = np.zeros((3, 16), np.float32)
    save_file(weights, folder / "weights.safetensors")
    ran = run("read", picture, "-m", folder)
    assert ran.code == 1
    assert "decoder.tokens.weight" in ran.errors[0]
    assert ran.err.count("\n") == 1


def test_a_pickle_is_not_opened(run, tiny_folder, picture, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    (folder / "weights.safetensors").write_bytes(pickle.dumps({"weight": [1.0]}))
    ran = run("read", picture, "-m", folder)
    assert ran.code == 1
    assert "pickle" in ran.errors[0]
    assert ran.err.count("\n") == 1


def test_a_config_that_is_not_ours_is_refused(run, tiny_folder, picture, tmp_path):
    folder = copied(tiny_folder, tmp_path)
    (folder / "config.json").write_text(json.dumps({"unrender": 1, "name": "x"}))
    ran = run("read", picture, "-m", folder)
    assert ran.code == 1
    assert "config.json" in ran.errors[0]


@pytest.mark.parametrize(
    ("option", "value", "hint"), [("-f", "latx", "latex"), ("-t", "formul", "formula"), ("-o", "result.xyz", ".tex")]
)
def test_an_unknown_format_task_or_ending_suggests_what_there_is(run, tiny_folder, picture, option, value, hint):
    ran = run("read", picture, "-m", tiny_folder, option, value)
    assert (ran.code, ran.out) == (1, "")
    [error] = ran.errors
    assert value.removeprefix("result") in error
    assert hint in error
    assert ran.err.count("\n") == 1


def test_an_output_that_cannot_be_written_is_an_error(run, tiny_folder, picture, tmp_path):
    ran = run("read", picture, "-m", tiny_folder, "-o", tmp_path / "gone" / "out.tex")
    assert ran.code == 1
    assert "cannot be written" in ran.errors[0]
