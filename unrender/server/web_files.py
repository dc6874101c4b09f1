"""The web page: a handful of files, read once, served without their comments and indentation."""

import re
from collections.abc import Callable
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_HEADERS = {"Cache-Control": "no-cache"}
_FOR_PEOPLE = re.compile(rb"^[ \t]*(?://.*|/\*\*.*\*/)?\n|^[ \t]+|(?<=[;{,]) // .*$", re.MULTILINE)

# Blanks around signs are for people too; lines with several templates or regular expressions stay as they are
_CODE = rb"""(?:[^"'`/\n]|"[^"\n]*")*"""
_PLAIN_LINE = re.compile(rb"^" + _CODE + rb"(?:`[^`\n]*`" + _CODE + rb")?$", re.MULTILINE)
_SIGN_SPACE = re.compile(rb'("[^"]*"|`[^`]*`)| ?([][(){},;:?=<>&|*]+) ?')
_CSS_SPACE = re.compile(rb"\s*([{};])\s*|(?<=[:,])[ \t]+")


def page_routes() -> APIRouter:
    """Serve each file of the page under its name, and index.html at the root."""
    router = APIRouter()
    for entry in sorted(files("unrender.server").joinpath("web").iterdir(), key=lambda entry: entry.name):
        ending = entry.name[entry.name.rfind(".") :]
        if ending in _TYPES:
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            content = entry.read_bytes() if ending == ".png" else _FOR_PEOPLE.sub(b"", entry.read_bytes())
            if ending == ".css":
                content = _CSS_SPACE.sub(rb"\1", content).replace(b";}", b"}")
            if ending == ".js":
                content = _PLAIN_LINE.sub(lambda line: _SIGN_SPACE.sub(rb"\1\2", line[0]), content)
            router.add_api_route(path, _serving(content, _TYPES[ending]), methods=["GET"])
    return router


def _serving(content: bytes, kind: str) -> Callable[[], Response]:
    def serve() -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return serve
