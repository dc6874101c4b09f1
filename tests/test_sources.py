"""What the user points at: files, folders, standard input, page numbers, the clipboard, a watched folder."""

import io
import os
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageGrab

from unrender.errors import ConfigError, ImageError, UnrenderError
from unrender.reading import sources
from unrender.reading.sources import WatchedFolder, clipboard, gather, parse_pages


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"picture")


def test_a_folder_stands_for_its_pictures_at_any_depth(tmp_path):
    touch(tmp_path / "b.PNG", tmp_path / "a" / "c.pdf", tmp_path / "notes.txt")
    inputs, errors = gather([str(tmp_path)])
    assert [entry.source for entry in inputs] == [tmp_path / "a" / "c.pdf", tmp_path / "b.PNG"]
    assert errors == []


def test_a_folder_without_pictures_is_an_error_beside_the_rest(tmp_path):
    inputs, errors = gather([str(tmp_path), "gone.png"], pages=(2,))
    assert [(entry.name, entry.pages) for entry in inputs] == [("gone.png", (2,))]
    assert str(errors[0]) == f"{tmp_path}: there is no image or PDF in this folder."


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bytes")))
    [entry], _ = gather(["-"])
    assert (entry.source, entry.name) == (b"bytes", "standard input")


@pytest.mark.parametrize(("text", "pages"), [("", ()), ("3", (3,)), ("1-4,7", (1, 2, 3, 4, 7)), (" 2 , 1 ", (2, 1))])
def test_page_numbers_are_read(text, pages):
    assert parse_pages(text) == pages


@pytest.mark.parametrize("text", ["a", "1-", "-3", "1-b", "1..3"])
def test_what_names_no_pages_is_refused(text):
    with pytest.raises(ConfigError, match="does not name pages"):
        parse_pages(text)


def test_the_clipboard_gives_its_picture(monkeypatch):
    picture = Image.new("L", (9, 9))
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: picture)
    assert clipboard().source is picture
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: ["copied.png"])
    assert clipboard().source == "copied.png"


def test_a_clipboard_without_picture_or_desktop_says_so(monkeypatch):
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: None)
    with pytest.raises(UnrenderError, match="no picture in the clipboard"):
        clipboard()

    def absent():
        raise NotImplementedError("wl-paste or xclip is required")

    monkeypatch.setattr(ImageGrab, "grabclipboard", absent)
    with pytest.raises(UnrenderError, match="cannot be reached here: wl-paste or xclip is required"):
        clipboard()


def test_a_watch_gives_each_new_picture_once_when_it_has_stopped_growing(tmp_path):
    touch(tmp_path / "old.png")
    watch = WatchedFolder(tmp_path)
    touch(tmp_path / "new.png", tmp_path / "new.txt")
    assert watch.poll() == []
    (tmp_path / "new.png").write_bytes(b"grown further")
    assert watch.poll() == []
    assert [entry.source for entry in watch.poll()] == [tmp_path / "new.png"]
    assert watch.poll() == []


def test_a_picture_that_paused_while_it_was_written_is_given_again(tmp_path):
    watch = WatchedFolder(tmp_path)
    touch(tmp_path / "new.png")
    watch.poll()
    assert len(watch.poll()) == 1
    (tmp_path / "new.png").write_bytes(b"picture, and the rest of it")
    watch.poll()
    assert len(watch.poll()) == 1


def test_a_picture_is_not_given_while_it_is_empty(tmp_path):
    watch = WatchedFolder(tmp_path)
    (tmp_path / "new.png").touch()
    assert [watch.poll() for _ in range(3)] == [[], [], []]


def test_a_watch_goes_on_when_a_picture_vanishes(tmp_path, monkeypatch):
    watch = WatchedFolder(tmp_path)
    touch(tmp_path / "new.png", tmp_path / "other.png")
    monkeypatch.setattr(sources, "_is_picture", lambda path: path.name != "new.png" or path.unlink() is None)
    watch.poll()
    assert [entry.place for entry in watch.poll()] == ["other.png"]


def test_a_watch_says_when_its_folder_is_gone(tmp_path):
    (tmp_path / "inbox").mkdir()
    watch = WatchedFolder(tmp_path / "inbox")
    (tmp_path / "inbox").rmdir()
    with pytest.raises(ImageError, match="cannot be watched any more"):
        watch.poll()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are always Unicode")
def test_a_name_that_is_not_unicode_can_be_printed(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png"))
    touch(path)
    for given in (str(tmp_path), str(path)):
        [entry], _ = gather([given])
        assert entry.name == f"{tmp_path}/caf\\xe9.png"
        assert Path(str(entry.source)).read_bytes() == b"picture"


@pytest.mark.parametrize("text", ["1-9999999999", "9" * 5000, "1-" + "9" * 5000])
def test_more_pages_than_any_document_has_are_refused(text):
    with pytest.raises(ConfigError, match="no document has so many pages") as caught:
        parse_pages(text)
    assert len(str(caught.value)) < 150


def test_only_a_folder_can_be_watched(tmp_path):
    with pytest.raises(ImageError, match="not a folder that can be watched"):
        WatchedFolder(tmp_path / "gone")


def test_every_suffix_is_lower_case():
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in sources.SUFFIXES)
