"""From image to pixels: parity with the published processors, and the laws of the three fits."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps
from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.nougat.image_processing_pil_nougat import NougatImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from unrender.images.pixels import ink_box, place, prepare
from unrender.models.config import ImagePrep

HALF = (0.5, 0.5, 0.5)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ODD_SIZES = [(333, 77), (61, 401), (150, 150), (17, 5), (1201, 850)]  # width, height
TOLERANCE = 1e-3

FORMULA = ImagePrep(
    height=64, width=256, fit="free", channels=1, mean=(0.5,), std=(0.5,), crop_margin=True, margin=4,
    pad_value=1.0, multiple=16,
)  # fmt: skip


def picture(width: int, height: int) -> Image.Image:
    """Coloured noise with a pale border and dark strokes, so that every step of the road shows."""
    rng = np.random.default_rng(width * 1000 + height)
    values = rng.integers(190, 256, (height, width, 3), dtype=np.uint8)
    image = Image.fromarray(values)
    pen = ImageDraw.Draw(image)
    pen.line((width * 0.2, height * 0.3, width * 0.7, height * 0.8), fill=(10, 20, 60), width=3)
    pen.rectangle((width * 0.4, height * 0.25, width * 0.8, height * 0.4), fill=(90, 10, 10))
    return image


@pytest.mark.parametrize(("width", "height"), ODD_SIZES)
@pytest.mark.parametrize("align", [False, True])
def test_donut_pixels_equal_the_published_processor(width, height, align):
    prep = ImagePrep(height=320, width=240, thumbnail="resample", align_long_axis=align)
    processor = DonutImageProcessorPil(size={"height": 320, "width": 240}, do_align_long_axis=align)
    assert_same(processor, prep, picture(width, height))


@pytest.mark.parametrize(("width", "height"), ODD_SIZES)
def test_donut_pixels_equal_the_published_processor_on_a_landscape_canvas(width, height):
    prep = ImagePrep(height=96, width=128, thumbnail="resample", align_long_axis=True)
    processor = DonutImageProcessorPil(size={"height": 96, "width": 128}, do_align_long_axis=True)
    assert_same(processor, prep, picture(width, height))


@pytest.mark.parametrize(("width", "height"), ODD_SIZES)
def test_nougat_pixels_equal_the_published_processor(width, height):
    prep = ImagePrep(height=448, width=336, crop_margin=True, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    processor = NougatImageProcessorPil(size={"height": 448, "width": 336})
    assert_same(processor, prep, picture(width, height))


@pytest.mark.parametrize(("width", "height"), ODD_SIZES)
def test_trocr_pixels_equal_the_published_processors(width, height):
    size = {"height": 384, "width": 384}
    base = ImagePrep(height=384, width=384, fit="squash", resample="bilinear")
    assert_same(ViTImageProcessorPil(size=size), base, picture(width, height))
    small = ImagePrep(height=384, width=384, fit="squash", resample="bicubic")
    assert_same(DeiTImageProcessorPil(size=size, do_center_crop=False), small, picture(width, height))


def assert_same(processor, prep: ImagePrep, image: Image.Image) -> None:
    theirs = np.asarray(processor(image, return_tensors="np")["pixel_values"][0])
    ours = prepare(image, prep)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, atol=TOLERANCE, rtol=0)


def test_nougat_canvas_lies_between_letter_and_a4():
    prep = ImagePrep(height=896, width=672)
    assert 22 / 17 < prep.height / prep.width < 2**0.5
    letter, a4 = Image.new("RGB", (816, 1056), "white"), Image.new("RGB", (794, 1123), "white")
    for page in (letter, a4):
        assert prepare(page, prep).shape == (3, 896, 672)
    assert place(letter, prep)[1].shift_y > 0  # the wider page is padded above and below,
    assert place(a4, prep)[1].shift_x > 0  # the taller one left and right


def test_a_blank_page_is_not_cropped():
    assert ink_box(Image.new("RGB", (30, 20), "white")) == (0, 0, 30, 20)


def test_a_ribbon_does_not_explode():
    prep = ImagePrep(height=2560, width=1920)
    assert prepare(Image.new("RGB", (60_000, 4), "white"), prep).shape == (3, 2560, 1920)


def formula(width: int = 100, height: int = 50, inside: str = "black") -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).rectangle((30, 20, 59, 29), fill=inside, outline="black")
    return image


def test_a_formula_is_cropped_to_its_ink_and_padded_with_white():
    pixels = prepare(formula(), FORMULA)
    assert pixels.shape == (1, 32, 48)  # 10 + 2 x 4 and 30 + 2 x 4, up to multiples of 16
    expected = np.ones((32, 48), np.float32)
    expected[4:14, 4:34] = -1
    np.testing.assert_allclose(pixels[0], expected, atol=1e-6)


def test_light_on_dark_is_inverted():
    np.testing.assert_allclose(prepare(ImageOps.invert(formula()), FORMULA), prepare(formula(), FORMULA), atol=1e-6)


def test_ink_at_the_edge_gets_its_margin_all_the_same():
    roomy = formula(inside="white")
    tight = roomy.crop((30, 20, 60, 30))
    np.testing.assert_allclose(prepare(tight, FORMULA), prepare(roomy, FORMULA), atol=1e-6)


def test_a_formula_is_shrunk_but_never_enlarged():
    large = formula().resize((1000, 500))
    _, height, width = prepare(large, FORMULA).shape
    assert height <= FORMULA.height
    assert width <= FORMULA.width
    assert place(large, FORMULA)[1].scale_x < 1
    assert place(formula(), FORMULA)[1].scale_x == 1


def test_a_line_is_scaled_to_its_height():
    prep = ImagePrep(height=48, width=960, fit="free", line_height=48, multiple=4, pad_value=1.0)
    assert prepare(formula(100, 24), prep).shape == (3, 48, 200)
    assert prepare(formula(100, 96), prep).shape == (3, 48, 52)


@pytest.mark.parametrize(
    "prep",
    [
        FORMULA,
        ImagePrep(height=96, width=128, fit="squash"),
        ImagePrep(height=320, width=240, crop_margin=True, pad_value=1.0),
        ImagePrep(height=320, width=240, align_long_axis=True, pad_value=1.0),
        ImagePrep(height=32, width=256, fit="free", line_height=32, pad_value=1.0),
    ],
)
def test_a_placed_pixel_leads_back_to_its_image(prep):
    pixels, placement = place(formula(inside="white"), prep)
    rows, columns = np.nonzero(pixels.mean(axis=0) < 0.5)
    ends = [(columns.min(), rows.min()), (columns.max() + 1, rows.max() + 1)]
    corners = [placement.to_image(float(x), float(y)) for x, y in ends]
    (x0, x1), (y0, y1) = sorted(x for x, _ in corners), sorted(y for _, y in corners)
    np.testing.assert_allclose((x0, y0, x1, y1), (30, 20, 60, 30), atol=1.01)
