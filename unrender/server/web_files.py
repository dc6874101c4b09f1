"""The web page: a handful of files, read once, packed for whoever can unpack them."""

import gzip
from collections.abc import Callable
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request
from fastapi.responses import Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}


def page_routes() -> APIRouter:
    """Serve each file of the page under its name, and index.html at the root."""
    router = APIRouter()
    for entry in sorted(files("unrender.server").joinpath("web").iterdir(), key=lambda entry: entry.name):
        kind = _TYPES.get(PurePath(entry.name).suffix)
        if kind is not None:
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            router.add_api_route(path, _serving(entry.read_bytes(), kind), methods=["GET"])
    return router


def _serving(content: bytes, kind: str) -> Callable[[Request], Response]:
    packed = gzip.compress(content)

    def serve(request: Request) -> Response:
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, media_type=kind, headers=_HEADERS)
        return Response(packed, media_type=kind, headers={**_HEADERS, "Content-Encoding": "gzip"})

    return serve
