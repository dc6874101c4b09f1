"""Where results go: nothing is lost, nothing is overwritten, every file is whole."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from unrender.cli import result_files
from unrender.cli.delivery import render_together
from unrender.cli.read import _say_tasks, _tell, in_order
from unrender.cli.result_files import arrange, write_whole
from unrender.documents import Block, Document
from unrender.formats.blocks import one_page
from unrender.reading.systems import Input


def copies(picture, *names) -> list[Path]:
    paths = [picture.parent / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture.read_bytes())
    return paths


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("given", ["in", "in/a/x.png in/b/x.png"])
def test_a_folder_of_results_keeps_the_structure(run, tiny_folder, picture, tmp_path, given):
    copies(picture, "in/a/x.png", "in/b/x.png")
    out = tmp_path / "out"
    ran = run("read", *(tmp_path / name for name in given.split()), "-m", tiny_folder, "-o", out)
    assert (ran.code, ran.out) == (0, "")
    assert tree(out) == ["a/x.tex", "b/x.tex"]


def test_names_that_differ_in_their_ending_keep_it():
    places = arrange([Input(name, name) for name in ("in/x.png", "in/x.jpg", "in/y.png", "in/y.png")])
    assert {name: place.as_posix() for name, place in places.items()} == {
        "in/x.png": "x.png",
        "in/x.jpg": "x.jpg",
        "in/y.png": "y",
    }


@pytest.mark.parametrize(
    ("kind", "confidence", "told"), [("formula", 0.03, True), ("formula", 0.9, False), ("text", 0.03, False)]
)
def test_a_formula_that_is_probably_misread_is_named(capsys, kind, confidence, told):
    assert _tell(one_page(Block(kind=kind, text="x", confidence=confidence)))
    assert ("this is probably misread (confidence 0.03)" in capsys.readouterr().err) is told


def test_a_name_that_ends_in_a_slash_is_a_folder(run, tiny_folder, picture, tmp_path):
    ran = run("read", picture, "-m", tiny_folder, "-o", f"{tmp_path}/new/deep/")
    assert ran.code == 0
    assert tree(tmp_path / "new") == ["deep/good.tex"]


@pytest.mark.parametrize("option", ["-o", "--overlay"])
def test_what_is_being_read_is_not_written_over(run, tiny_folder, picture, option):
    before = picture.read_bytes()
    link = picture.with_name("link.png")
    link.symlink_to(picture)
    for name in (picture, link):
        ran = run("read", picture, "-m", tiny_folder, "-f", "latex", option, name, "--overwrite")
        assert ran.code == 1
        assert "is being read" in ran.errors[0]
    assert picture.read_bytes() == before


def test_a_file_that_holds_something_else_is_kept_unless_it_may_go(run, tiny_folder, picture, tmp_path):
    command = ("read", picture, "-m", tiny_folder, "-o", tmp_path / "out" / "")
    assert run(*command[:-1], f"{tmp_path}/out/").code == 0
    result = tmp_path / "out" / "good.tex"
    first = result.read_bytes()
    assert run(*command).code == 0  # once more: the same result
    result.write_bytes(b"corrected by hand")
    refused = run(*command)
    assert refused.code == 1
    assert f"{result} exists and holds something else; --overwrite writes over it." in refused.errors[0]
    assert result.read_bytes() == b"corrected by hand"
    assert run(*command, "--overwrite").code == 0
    assert result.read_bytes() == first


def test_one_file_of_all_results_is_refused_before_anything_is_read(run, tiny_folder, picture, tmp_path, monkeypatch):
    [other] = copies(picture, "other.png")
    (tmp_path / "all.json").write_text("[]")
    monkeypatch.setattr("unrender.reading.reader.Reader.read_many", None)
    ran = run("read", picture, other, "-m", tiny_folder, "-o", tmp_path / "all.json")
    assert ran.errors == [f"Error: {tmp_path / 'all.json'} exists already; --overwrite writes over it."]


def test_several_results_in_one_file_are_valid_and_free_of_names(run, tiny_folder, picture, tmp_path):
    [other] = copies(picture, "other.png")
    for ending in ("json", "jsonl", "tex", "typ", "html", "md", "docx"):
        ran = run("read", picture, other, "-m", tiny_folder, "-o", tmp_path / f"all.{ending}")
        assert (ran.code, ran.out, ran.errors) == (0, "", []), ending
    sources = [str(picture), str(other)]
    assert [entry["source"] for entry in json.loads((tmp_path / "all.json").read_text())] == sources
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [json.loads(line)["source"] for line in lines] == sources
    whole = (tmp_path / "all.tex").read_text()
    assert whole.count("\\documentclass") == whole.count("\\end{document}") == 1
    assert not [name for name in ("tex", "typ", "html", "md") if "good.png" in (tmp_path / f"all.{name}").read_text()]


def test_receipts_in_one_table_have_a_row_each_and_name_their_files_in_json():
    receipts = [
        Document(pages=one_page(Block(kind="fields", fields={"total": total})).pages, source=f"{total}.png")
        for total in ("1.00", "2.00")
    ]
    rows = list(csv.reader(io.StringIO(render_together(receipts, "csv").decode())))
    assert rows == [["file", "total"], ["1.00.png", "1.00"], ["2.00.png", "2.00"]]
    read = {"kind": "complete"}
    assert json.loads(render_together(receipts, "json")) == [
        {"source": "1.00.png", "status": read, "fields": {"total": "1.00"}},
        {"source": "2.00.png", "status": read, "fields": {"total": "2.00"}},
    ]
    with zipfile.ZipFile(io.BytesIO(render_together(receipts, "xlsx"))) as book:
        assert "2.00.png" in book.read("xl/worksheets/sheet1.xml").decode()


def test_pages_of_several_files_in_one_document_are_numbered_on():
    formulas = [one_page(Block(kind="formula", text=letter)) for letter in "xy"]
    assert re.findall(r'id="(page-\d)"', render_together(formulas, "html").decode()) == ["page-1", "page-2"]


def test_overlays_of_files_with_the_same_name_are_all_kept(run, tiny_folder, picture, tmp_path):
    copies(picture, "in/a/x.png", "in/b/x.png")
    ran = run("read", tmp_path / "in", "-m", tiny_folder, "--overlay", tmp_path / "seen.png")
    assert ran.code == 0
    assert sorted(path.name for path in tmp_path.glob("seen*")) == ["seen-a-x.png", "seen-b-x.png"]
    with Image.open(tmp_path / "seen-a-x.png") as seen:
        assert seen.format == "PNG"


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_result_and_nothing_half_written(tmp_path, monkeypatch, moment):
    path = tmp_path / "result.tex"
    path.write_text("old")

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(result_files.os if moment == "fsync" else Path, moment, fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert tree(tmp_path) == ["result.tex"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    path, link = tmp_path / "result.tex", tmp_path / "link.tex"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_documents_that_come_in_any_order_are_given_in_the_order_of_their_files():
    inputs = [Input(name, name) for name in ("a", "b", "a", "c")]
    finished = [Document(pages=(), source=name) for name in ("c", "a", "b", "a")]
    assert [document.source for _, document in in_order(inputs, finished)] == ["a", "b", "a", "c"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("verb", ["read", "models"])
def test_a_full_standard_output_is_one_sentence(tiny_folder, picture, verb):
    arguments = ["read", str(picture), "-m", str(tiny_folder)] if verb == "read" else ["models", "--json"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "unrender", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == "Error: Standard output cannot be written (No space left on device)."
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are always Unicode")
def test_a_name_that_is_not_unicode_does_not_end_the_run(tiny_folder, picture, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in (b"caf\xe9.png", b"zoo.png"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(picture.read_bytes())
    command = [sys.executable, "-m", "unrender", "read", str(folder), "-m", str(tiny_folder)]
    ran = subprocess.run([*command, "--json"], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    sources = [json.loads(line)["source"] for line in ran.stdout.splitlines()]
    assert sources == [f"{folder}/caf\\xe9.png", f"{folder}/zoo.png"]
    ran = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert sorted(os.listdir(os.fsencode(tmp_path / "out"))) == [b"caf\xe9.tex", b"zoo.tex"]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"receipt": ["a.png"]}, "a.png is read as a receipt"),
        ({"formula": ["a.png", "b.png"]}, "all 2 files are read as formulas"),
        ({"page": ["c.pdf"], "formula": ["a.png", "b.png"]}, "2 files are read as formulas, 1 as a page (c.pdf)"),
        ({"page": ["a", "b", "c", "d"], "formula": list("efghi")},
         "5 files are read as formulas, 4 as pages (a, b, c, ...)"),
    ],
)  # fmt: skip
def test_what_files_look_like_is_one_sentence(seen, said):
    assert _say_tasks(seen) == said


def test_nothing_is_guessed_of_a_file_that_cannot_be_opened(run, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    assert [line for line in run("read", tmp_path / "text.png").errors if line.startswith("Note")] == []


def test_a_page_that_fails_is_named_by_its_number(run, tmp_path, tiny_folder):
    path = tmp_path / "three.tiff"
    good = Image.new("RGB", (60, 30), "white")
    good.save(path, save_all=True, append_images=[Image.new("RGB", (1, 1)), good])
    ran = run("read", path, "-m", tiny_folder, "-f", "text")
    assert f"Error: {path}, page 2: 1 x 1 pixels are too few to read; each side needs at least 4." in ran.errors
    assert "page 2 failed: 1 x 1 pixels are too few" in ran.out
