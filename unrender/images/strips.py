"""Strips of a picture that hold one line each: cut out, straightened, and turned the way they are read."""

import math
from dataclasses import dataclass, replace

from PIL import Image

Point = tuple[float, float]
Region = tuple[int, int, int, int]  # left, top, right, bottom in the picture
_TALL = 1.9  # times its width: a strip this high may be a line that stands on its side


@dataclass(frozen=True)
class Strip:
    """The corners of a line as it is read: where it begins at the top, ends at the top, ends below, begins below.

    Strips with the same `line` are pieces of one line; `glued` says that a word was cut before this piece.
    """

    corners: tuple[Point, Point, Point, Point]
    line: int = 0
    glued: bool = False

    @classmethod
    def of(cls, region: Region, line: int = 0, *, glued: bool = False) -> "Strip":
        """Return an upright part of a picture."""
        left, top, right, bottom = map(float, region)
        return cls(((left, top), (right, top), (right, bottom), (left, bottom)), line, glued)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height once it is cut out."""
        first, second, third, fourth = self.corners
        wide = max(math.dist(first, second), math.dist(fourth, third))
        high = max(math.dist(first, fourth), math.dist(second, third))
        return max(1, round(wide)), max(1, round(high))

    @property
    def tall(self) -> bool:
        width, height = self.size
        return height > _TALL * width

    @property
    def frame(self) -> tuple[float, float, float, float]:
        """The smallest upright box around it."""
        across, down = zip(*self.corners, strict=True)
        return min(across), min(down), max(across), max(down)

    @property
    def upright(self) -> bool:
        left, top, right, bottom = self.frame
        return self.corners == ((left, top), (right, top), (right, bottom), (left, bottom))

    def turned(self, turns: int) -> "Strip":
        """Return the strip as it is after some quarter turns clockwise."""
        first = -turns % 4
        one, two, three, four = (*self.corners[first:], *self.corners[:first])
        return replace(self, corners=(one, two, three, four))

    def part(self, begin: float, end: float, *, glued: bool = False) -> "Strip":
        """Return the piece between two shares of its length."""
        corners = (self.at(begin, 0), self.at(end, 0), self.at(end, 1), self.at(begin, 1))
        return Strip(corners, self.line, glued)

    def at(self, along: float, down: float) -> Point:
        """Return the point of the picture at these shares of length and height."""
        shares = ((1 - along) * (1 - down), along * (1 - down), along * down, (1 - along) * down)
        x = sum(share * corner[0] for share, corner in zip(shares, self.corners, strict=True))
        y = sum(share * corner[1] for share, corner in zip(shares, self.corners, strict=True))
        return x, y

    def point(self, x: float, y: float) -> Point:
        """Return the point of the picture that is at (x, y) once the strip is cut out."""
        width, height = self.size
        return self.at(x / width, y / height)

    def cut(self, image: Image.Image) -> Image.Image:
        """Cut it out of a picture."""
        if self.upright:
            left, top, right, bottom = self.frame
            return image.crop((max(0, int(left)), max(0, int(top)), math.ceil(right), math.ceil(bottom)))
        first, second, third, fourth = self.corners
        return image.transform(
            self.size, Image.Transform.QUAD, (*first, *fourth, *third, *second), Image.Resampling.BICUBIC
        )
