"""Opening images and PDFs: every mode, every orientation, every way a file can be bad."""

import contextlib
import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from unrender.errors import ImageError
from unrender.images.opening import MAX_PIXELS, is_blank, open_pages

WIDTH, HEIGHT = 60, 40
ORIENTATION_TAG = 0x0112


def drawing() -> Image.Image:
    """A white page with a black mark at its top left, so that its orientation can be seen."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    ImageDraw.Draw(image).rectangle((5, 5, 20, 12), fill="black")
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def difference(first: Image.Image, second: Image.Image) -> int:
    return int(np.abs(np.asarray(first, int) - np.asarray(second, int)).max())


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "HSV", "LAB", "I", "F"])
def test_every_mode_opens_as_the_same_rgb_page(mode):
    [page] = open_pages(_in_mode(mode))
    assert page.mode == "RGB"
    assert difference(page, drawing()) <= 3


def _in_mode(mode: str) -> Image.Image:
    if mode == "LAB":
        neutral = Image.new("L", (WIDTH, HEIGHT), 128)
        return Image.merge("LAB", [drawing().convert("L"), neutral, neutral])
    if mode == "LA":
        return drawing().convert("RGBA").convert("LA")
    return drawing().convert(mode)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_deep_greys_are_scaled_to_eight_bits(dtype):
    top = 1.0 if dtype is np.float32 else 65535
    values = (np.asarray(drawing().convert("L"), np.float64) / 255 * top).astype(dtype)
    [page] = open_pages(Image.fromarray(values))
    assert difference(page, drawing()) <= 1


def test_a_sixteen_bit_png_keeps_its_greys():
    values = (np.asarray(drawing().convert("L"), np.uint16)) * 257
    [page] = open_pages(encoded(Image.fromarray(values)))
    assert difference(page, drawing()) == 0


def test_transparency_lies_over_white():
    image = Image.new("RGBA", (WIDTH, HEIGHT), (255, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((5, 5, 20, 12), fill=(0, 0, 0, 255))
    [page] = open_pages(encoded(image))
    assert difference(page, drawing()) == 0


def test_white_ink_on_transparency_stays_visible():
    image = Image.new("RGBA", (WIDTH, HEIGHT), (255, 255, 255, 0))
    ImageDraw.Draw(image).rectangle((5, 5, 20, 12), fill="white")
    [page] = open_pages(encoded(image))
    assert not is_blank(page)


def test_a_palette_with_a_transparent_colour_lies_over_white():
    image = Image.new("P", (WIDTH, HEIGHT), 1)
    image.putpalette([0, 0, 0, 200, 10, 10])
    ImageDraw.Draw(image).rectangle((5, 5, 20, 12), fill=0)
    [page] = open_pages(encoded(image, transparency=1))
    assert difference(page, drawing()) == 0


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_page_is_turned_upright_by_its_exif_orientation(orientation):
    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = drawing().transpose(turns[orientation]) if orientation in turns else drawing()
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    [page] = open_pages(encoded(stored, "PNG", exif=exif))
    assert difference(page, drawing()) == 0


def test_a_cmyk_jpeg_opens_with_its_colours():
    [page] = open_pages(encoded(drawing().convert("CMYK"), "JPEG", quality=95))
    assert difference(page, drawing()) <= 24


def test_an_animation_gives_its_first_frame():
    frames = [drawing(), Image.new("RGB", (WIDTH, HEIGHT), "red")]
    [page] = open_pages(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert difference(page, drawing()) <= 3


def test_a_multi_page_tiff_gives_all_its_pages():
    second = Image.new("RGB", (30, 50), "red")
    pages = open_pages(encoded(drawing(), "TIFF", save_all=True, append_images=[second]))
    assert [page.size for page in pages] == [(WIDTH, HEIGHT), (30, 50)]


def test_pdf_pages_are_drawn_at_the_dpi_asked_for(make_pdf):
    pages = open_pages(make_pdf(pages=3, width_points=72, height_points=144), dpi=96)
    assert [page.size for page in pages] == [(96, 192)] * 3
    assert not is_blank(pages[1])


def test_arrays_and_pillow_images_are_sources_too():
    [grey] = open_pages(np.asarray(drawing().convert("L")))
    [colour] = open_pages(np.asarray(drawing()))
    assert difference(grey, drawing()) == difference(colour, drawing()) == 0


def test_pages_are_a_sequence():
    pages = open_pages(encoded(drawing(), "TIFF", save_all=True, append_images=[drawing(), drawing()]))
    assert len(pages) == 3
    assert len(pages[1:]) == 2
    with pytest.raises(IndexError):
        pages[3]


def test_one_damaged_pdf_page_leaves_the_others_readable(make_pdf):
    pages = open_pages(make_pdf(pages=2, width_points=72, height_points=72, first_page_points=200_000))
    with pytest.raises(ImageError, match="exceed the limit"):
        pages[0]
    assert pages[1].size == (96, 96)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"just some words\n", "neither a PDF nor an image"),
        (encoded(drawing())[:-60], "damaged or incomplete"),
        (encoded(drawing(), "JPEG")[:400], "damaged or incomplete"),
        (encoded(Image.new("L", (1, 1))), "1 x 1 pixels are too few to read"),
        (b"%PDF-1.7\n" + b"nonsense " * 50, "damaged"),
    ],
)
def test_bad_bytes_give_one_sentence(data, message):
    with pytest.raises(ImageError, match=message):
        list(open_pages(data))


@given(st.sampled_from(["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "PPM", "TGA"]), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_raise_nothing_but_our_error(kind, data):
    content = bytearray(encoded(drawing(), kind))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content)))
    pages = []
    with contextlib.suppress(ImageError):
        pages = list(open_pages(bytes(content[:cut])))
    assert all(page.mode == "RGB" for page in pages)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_our_error(content):
    with pytest.raises(ImageError):
        list(open_pages(content))


def test_a_decompression_bomb_is_refused_before_it_is_unpacked(make_png_header):
    side = int(MAX_PIXELS**0.5)
    for width in (side + 1, 2 * side, 65_000):
        with pytest.raises(ImageError, match="pixels"):
            open_pages(make_png_header(width, width))


def test_a_wide_array_of_floats_is_refused():
    with pytest.raises(ImageError, match="is not a picture"):
        open_pages(np.zeros((4, 5, 6, 7)))


def test_missing_files_and_folders_are_named(tmp_path: Path):
    with pytest.raises(ImageError, match=r"gone\.png: there is no such file"):
        open_pages(tmp_path / "gone.png")
    with pytest.raises(ImageError, match="this is a folder"):
        open_pages(tmp_path)


@pytest.mark.parametrize("array", [np.array(5), np.zeros((0, 5), np.uint8), np.array([[None]]), np.zeros(7, np.uint8)])
def test_arrays_that_are_no_picture_are_refused(array):
    with pytest.raises(ImageError, match=r"is not a picture|too few to read"):
        open_pages(array)


def test_a_closed_pillow_image_is_refused(tmp_path: Path):
    drawing().save(tmp_path / "closed.png")
    image = Image.open(tmp_path / "closed.png")
    image.close()
    with pytest.raises(ImageError, match="damaged or incomplete"):
        open_pages(image)[0]


def test_a_truncated_pillow_image_is_refused():
    image = Image.open(io.BytesIO(encoded(drawing())[:-60]))
    with pytest.raises(ImageError, match="damaged or incomplete"):
        open_pages(image)[0]


def test_a_truncated_file_on_disk_is_refused(tmp_path: Path):
    (tmp_path / "half.jpg").write_bytes(encoded(drawing(), "JPEG")[:400])
    with pytest.raises(ImageError, match=r"half\.jpg: the image is damaged or incomplete"):
        list(open_pages(tmp_path / "half.jpg"))


def test_the_image_of_a_caller_stays_as_it_was():
    image = drawing()
    [page] = open_pages(image)
    page.paste("red", (0, 0, WIDTH, HEIGHT))
    assert difference(image, drawing()) == 0


def test_a_nul_in_a_path_is_one_sentence():
    with pytest.raises(ImageError, match="cannot be the name of a file"):
        open_pages("nul\0.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ImageError, match="this is a pipe or a device"):
        open_pages(tmp_path / "pipe.png")


INK = b"""<ink xmlns="http://www.w3.org/2003/InkML">
<trace id="0">10 0, 10 40, 12 80</trace><trace id="1">60 0 5, 90 80 6</trace><trace id="2">90 0, 60 80</trace></ink>"""


def test_pen_strokes_are_drawn_as_the_model_knows_them(tmp_path):
    path = tmp_path / "formula.inkml"
    path.write_bytes(INK)
    for source in (path, INK, b"\xef\xbb\xbf<?xml version='1.0'?>\n" + INK):
        [page] = open_pages(source)
        assert page.mode == "RGB"
        assert page.size == (16 + 2 * 8, 16 + 2 * 8)  # symbols of 16 pixels and a margin of 8
        assert page.getpixel((8, 16))[0] < 100


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"<ink><trace>1 2, 3", "pen.inkml is not InkML"),
        (b"<ink></ink>", "there are no pen strokes in it"),
        (b"<ink><trace>1 nonsense</trace></ink>", "points that are not x and y"),
    ],
)
def test_ink_that_cannot_be_drawn_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(ImageError, match=sentence):
        open_pages(data, name="pen.inkml")


def test_far_strokes_are_drawn_small_not_large():
    far = b"<ink><trace>0 0, 0 1</trace><trace>1e8 1e8, 1e8 100000001</trace></ink>"
    [page] = open_pages(far)
    assert page.width * page.height < 5_000_000
