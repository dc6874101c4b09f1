"""The web page: a handful of files, read once, served as they are."""

from collections.abc import Callable
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
}
_HEADERS = {"Cache-Control": "no-cache"}


def page_routes() -> APIRouter:
    """Serve each file of the page under its name, and index.html at the root."""
    router = APIRouter()
    for entry in sorted(files("unrender.server").joinpath("web").iterdir(), key=lambda entry: entry.name):
        kind = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if kind is not None:
            path = "/" if entry.name == "index.html" else f"/{entry.name}"
            router.add_api_route(path, _serving(entry.read_bytes(), kind), methods=["GET"])
    return router


def _serving(content: bytes, kind: str) -> Callable[[], Response]:
    def serve() -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return serve
