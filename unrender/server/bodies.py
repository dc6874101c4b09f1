"""What clients send: bodies of bounded size and time, raw or in multipart form; what is in them and asked of it."""

import asyncio
import io
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import TypeVar

from fastapi import Request
from PIL import Image
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from unrender import formats
from unrender.errors import ImageError
from unrender.images.drawing import FORMATS, KNOWN_STARTS, is_inkml, is_pdf
from unrender.images.opening import open_pages
from unrender.server import problems
from unrender.server.limits import Limits, Memory
from unrender.server.problems import HttpError
from unrender.server.shapes import Ask
from unrender.server.work import Crop

RAW_TYPES = ("application/octet-stream", "application/pdf")
_FORM = "multipart/form-data"
_NO_TYPE = ("", "application/x-www-form-urlencoded")  # what curl says when it is told nothing: the bytes tell more
_MAX_FIELDS = 20
_LONGEST_NAME = 200
_PDF_PAGE_PIXELS = 2_000_000  # about one A4 page at 120 dpi

Chunks = AsyncGenerator[bytes, None]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Body:
    """The file of a request, and the fields beside it."""

    data: bytes
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """What a file holds, as far as its header tells."""

    pages: int
    pixels: int  # of the first page


@asynccontextmanager
async def receive(
    request: Request, limits: Limits, memory: Memory, parse: Callable[[Request, Chunks], Awaitable[_T]]
) -> AsyncIterator[_T]:
    """Receive a body within the limits; its bytes count as memory held while the context lasts."""
    taken = 0
    too_large = HttpError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body exceeds the limit of {limits.body_bytes:,} bytes; send a smaller file.",
    )
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.body_bytes:
        raise too_large

    async def chunks() -> Chunks:
        nonlocal taken
        async for chunk in request.stream():
            if taken + len(chunk) > limits.body_bytes:
                raise too_large
            memory.take_body(len(chunk))
            taken += len(chunk)
            yield chunk

    try:
        async with asyncio.timeout(limits.body_seconds):
            body = await parse(request, chunks())
        yield body
    except TimeoutError as error:
        sentence = f"The body did not arrive within {limits.body_seconds:g} seconds."
        raise HttpError(HTTPStatus.REQUEST_TIMEOUT, sentence) from error
    except ClientDisconnect as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "The client went away before its body was complete.") from error
    finally:
        memory.give_body(taken)


async def parse_file(request: Request, chunks: Chunks) -> Body:
    """Take the file a body is, or the one in its form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _FORM:
        return await _parse_form(request, chunks)
    if kind not in (*_NO_TYPE, *RAW_TYPES) and not kind.startswith("image/"):
        raise HttpError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"A body of type {kind[:50]} cannot be read; send an image, a PDF, or a form with a file.",
        )
    data = b"".join([chunk async for chunk in chunks])
    if not data:
        raise HttpError(HTTPStatus.BAD_REQUEST, "The body is empty; send an image or a PDF.")
    return Body(data, "image")


async def parse_text(request: Request, chunks: Chunks) -> bytes:
    """Take a body of JSON as it is."""
    return b"".join([chunk async for chunk in chunks])


def examine(data: bytes, name: str, limits: Limits) -> Contents:
    """Look at the header of a file; an HttpError has the status that fits what is wrong with it."""
    pdf = is_pdf(data)
    pixels = _PDF_PAGE_PIXELS if pdf else _count_pixels(data)
    if not pdf and pixels is not None and pixels > limits.pixels:
        sentence = f"{name}: the image has {pixels:,} pixels and the limit is {limits.pixels:,}; shrink it."
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
    try:
        pages = len(open_pages(data, name=name))
    except ImageError as error:
        known = pixels is not None or data.startswith(KNOWN_STARTS) or is_inkml(data)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if known else HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        raise HttpError(status, str(error)) from error
    return Contents(pages, pixels or 0)


async def _parse_form(request: Request, chunks: Chunks) -> Body:
    try:
        form = await MultiPartParser(request.headers, chunks, max_files=1, max_fields=_MAX_FIELDS).parse()
    except (MultiPartException, LookupError, UnicodeDecodeError) as error:
        reason = error.message.rstrip(".") if isinstance(error, MultiPartException) else "its boundary is missing"
        raise HttpError(HTTPStatus.BAD_REQUEST, f"The form cannot be read: {reason}.") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise HttpError(HTTPStatus.BAD_REQUEST, "The form has no file; send one in the field `file`.")
        data = await file.read()
        if not data:
            raise HttpError(HTTPStatus.BAD_REQUEST, "The file is empty; send an image or a PDF.")
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        return Body(data, PurePosixPath(file.filename or "").name[:_LONGEST_NAME] or "image", fields)
    finally:
        await form.close()


def _count_pixels(data: bytes) -> int | None:
    """Return the pixels an image claims to have; None when the header is not that of an image."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # our own limit is lower than the one that warns
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                return image.width * image.height
        except Image.DecompressionBombError:
            return 2 * (Image.MAX_IMAGE_PIXELS or 0) + 1  # at least so many
        except Exception:  # noqa: BLE001 - decoders raise anything on hostile bytes
            return None


def with_fields(ask: Ask, body: Body, request: Request) -> Ask:
    if not body.fields:
        return ask
    return problems.validated(lambda: Ask.model_validate({**request.query_params, **body.fields}))


def parse_crop(text: str | None) -> Crop | None:
    if text is None:
        return None
    left, top, right, bottom = (float(share) for share in text.split(","))
    if left >= right or top >= bottom:
        raise HttpError(
            HTTPStatus.UNPROCESSABLE_ENTITY, "crop: left must be less than right, and top less than bottom."
        )
    return left, top, right, bottom


def check_format(notation: str) -> None:
    if formats.check_notation(notation) not in formats.NOTATIONS:
        raise HttpError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"format: {notation} is for files only; there are {', '.join(formats.NOTATIONS)}.",
        )


def check_pages(wanted: tuple[int, ...], count: int, limit: int) -> None:
    beyond = [number for number in wanted if not 1 <= number <= count]
    if beyond:
        raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, f"There is no page {beyond[0]}; the pages are 1 to {count}.")
    if len(wanted) > limit:
        raise HttpError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"{len(wanted)} pages are more than the limit of {limit}; choose some with `pages`.",
        )
