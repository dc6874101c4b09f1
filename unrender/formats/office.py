"""What Word and Excel files share: a zip of parts in XML, with their kinds and how they belong together."""

import io
import re
import zipfile
from collections.abc import Mapping
from html import escape

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_DATE = (1980, 1, 1, 0, 0, 0)  # the same document gives the same bytes
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]")  # not allowed in XML


def pack(parts: Mapping[str, str], kinds: Mapping[str, str]) -> bytes:
    """Zip parts by their names; `kinds` gives the content type of those that have one of their own."""
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in kinds.items())
    relations = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    plain = '<Default Extension="xml" ContentType="application/xml"/>'
    types = f'<Types xmlns="{_PACKAGE}/content-types">{relations}{plain}{overrides}</Types>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"[Content_Types].xml": types, **parts}.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), _DECLARATION + text, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def relations(*links: tuple[str, str]) -> str:
    """Write the links of a part to others, each a kind and a target; they are called r0, r1 ..."""
    written = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(links)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{written}</Relationships>'


def text(content: str) -> str:
    """Write a text as XML."""
    return escape(_CONTROL.sub("", content), quote=False)
