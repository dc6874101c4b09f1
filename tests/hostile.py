"""Generators of files that are small and cost their reader much: each was found to stop a server once."""

import struct
import zlib


def pdf(*bodies: bytes) -> bytes:
    """Write numbered objects as a PDF; the first must be the catalog."""
    content, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(bodies, 1):
        places.append(len(content))
        content += b"%d 0 obj%sendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    return content + b"trailer<</Size %d/Root 1 0 R>>startxref\n%d\n%%%%EOF" % (len(bodies) + 1, start)


def stream(entries: bytes, content: bytes) -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream " % (entries, len(content), content)


def page(contents: int, resources: bytes) -> bytes:
    return b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents %d 0 R/Resources<<%s>>>>" % (contents, resources)


def nested_patterns(depth: int = 7) -> bytes:
    """A page filled with a pattern of tiny cells, each filled with a pattern of tiny cells, and so on."""
    bodies = [b"<</Pages 2 0 R>>", b"<</Kids[3 0 R]/Count 1>>", page(4, b"/Pattern<</P 5 0 R>>")]
    fill = b"/Pattern cs/P scn 0 0 600 600 re f"
    bodies.append(stream(b"", fill))
    kind = b"/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 %d %d]/XStep %s/YStep %s/Resources<<%s>>"
    for level in range(depth):
        resources = b"/Pattern<</P %d 0 R>>" % (6 + level) if level < depth - 1 else b""
        cell = fill if level < depth - 1 else b"0 0 1 1 re f"
        bodies.append(stream(kind % (600, 600, b".5", b".5", resources), cell))
    return pdf(*bodies)


def nested_forms(depth: int = 24, copies: int = 8, pages: int = 1, hostile_page: int = 0) -> bytes:
    """A form that draws another one several times, which does the same: copies ** depth drawings."""
    kids = b" ".join(b"%d 0 R" % (3 + number) for number in range(pages))
    bodies = [b"<</Pages 2 0 R>>", b"<</Kids[%s]/Count %d>>" % (kids, pages)]
    harmless, hostile, form = 3 + pages, 4 + pages, 5 + pages
    for number in range(pages):
        contents = hostile if number == hostile_page else harmless
        bodies.append(page(contents, b"/XObject<</F %d 0 R>>" % form))
    bodies += [stream(b"", b"100 100 200 200 re f"), stream(b"", b"/F Do")]
    kind = b"/Type/XObject/Subtype/Form/BBox[0 0 600 600]/Resources<<%s>>"
    for level in range(depth):
        last = level == depth - 1
        resources = b"" if last else b"/XObject<</F %d 0 R>>" % (form + 1 + level)
        bodies.append(stream(kind % resources, b"0 0 9 9 re f" if last else b"/F Do " * copies))
    return pdf(*bodies)


def inflating_stream(size: int = 54_000_000) -> bytes:
    """A few kilobytes that become `size` bytes of drawing commands."""
    commands = b"0 0 m 600 600 l 0 600 m 600 0 l S\n"
    content = zlib.compress(commands * (size // len(commands)), 9)
    catalog = [b"<</Pages 2 0 R>>", b"<</Kids[3 0 R]/Count 1>>", page(4, b"")]
    return pdf(*catalog, stream(b"/Filter/FlateDecode", content))


def many_directories(count: int = 100_000) -> bytes:
    """A TIFF of so many one-pixel pages, all of them the same directory but for the link to the next."""
    entries = ((256, 1, 9), (257, 1, 9), (258, 1, 8), (259, 1, 1), (262, 1, 1), (273, 1, 8), (277, 1, 1), (279, 1, 81))
    directory = struct.pack("<H", len(entries))
    directory += b"".join(struct.pack("<HHII", tag, 3, number, value) for tag, number, value in entries)
    size, first = len(directory) + 4, 8 + 81
    starts = [first + number * size for number in range(1, count)] + [0]
    content = b"II*\0" + struct.pack("<I", first) + bytes(81)
    return content + b"".join(directory + struct.pack("<I", start) for start in starts)
