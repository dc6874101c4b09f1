"""A picture of what was read: each token's place on the page, tinted by how sure the model was."""

from PIL import Image, ImageDraw

from unrender.documents import Page

_OPACITY = 90  # of 255
_SURE, _UNSURE = (30, 140, 60), (220, 60, 20)
_INK = (20, 60, 160)
_NAMED = ("company", "date", "address", "total")  # fields whose name is written beside their box


def draw(image: Image.Image, page: Page) -> Image.Image:
    """Return a copy of the page image with a box for every token whose place is known."""
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    for block in [one for outer in page.blocks for one in (outer, *outer.children)]:
        if block.box is not None:
            pen.rectangle((block.box.x0, block.box.y0, block.box.x1, block.box.y1), outline=(*_SURE, 255))
            if block.kind in _NAMED:
                pen.text((block.box.x0, block.box.y0), block.kind, fill=(*_INK, 255), anchor="lb")
        for token in block.tokens:
            if token.box is not None:
                box = (token.box.x0, token.box.y0, token.box.x1, token.box.y1)
                pen.rectangle(box, fill=(*_tint(token.probability), _OPACITY), outline=(*_tint(token.probability), 255))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _tint(probability: float) -> tuple[int, int, int]:
    red, green, blue = (
        round(unsure + probability * (sure - unsure)) for sure, unsure in zip(_SURE, _UNSURE, strict=True)
    )
    return red, green, blue
