"""The routes: a thin skin on `Reader`, with the page beside them."""

import io
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse

from unrender import __version__, formats, tasks
from unrender.checkpoints import cache_folder
from unrender.documents import Document, Json, to_dict
from unrender.images.opening import open_pages
from unrender.reading import sources
from unrender.reading.choice import choose_task
from unrender.reading.systems import Input, Options
from unrender.server import bodies, descriptions, events, problems
from unrender.server.conversions import Converter
from unrender.server.corrections import Corrections
from unrender.server.counters import Counters
from unrender.server.descriptions import render
from unrender.server.gate import Gate, Hosts
from unrender.server.limits import Limits, Memory
from unrender.server.pool import Pool
from unrender.server.problems import HttpError
from unrender.server.shapes import (
    Ask,
    Conversion,
    Converted,
    Correction,
    DocumentShape,
    Health,
    Kept,
    ModelList,
    ModelShape,
)
from unrender.server.shelf import Shelf
from unrender.server.web_files import page_routes
from unrender.server.work import Work

_PREVIEW_DPI = 110
_PREVIEW_SIDE = 2000
_BYTES_PER_CHARACTER = 12  # of JSON, at most: \ud83d\ude00

_T = TypeVar("_T")


def create_app(
    shelf: Shelf,
    limits: Limits | None = None,
    token: str = "",
    *,
    hosts: Hosts | None = None,
    corrections: Path | None = None,
) -> FastAPI:
    """Make the application: models, limits, the token that requests must carry, the names it answers to, if any.

    `corrections` is the folder for what people correct and want kept; by default it is in the cache.
    """
    service = Service(shelf, limits or Limits(), corrections or cache_folder() / "corrections")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.pool.start()
        yield
        service.pool.close()
        service.converter.close()

    app = FastAPI(
        title="unrender",
        version=__version__,
        summary="From the picture of a formula, a receipt or a page to what is written there.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.include_router(_api(service))
    app.include_router(_corrections(service))
    app.include_router(page_routes(), include_in_schema=False)

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> HTMLResponse:
        return HTMLResponse(render(app.openapi(), str(request.base_url).rstrip("/")))

    problems.install(app)
    app.add_middleware(Gate, limits=service.limits, metrics=service.metrics, token=token, hosts=hosts or Hosts())
    return app


class Service:
    """What the routes share."""

    def __init__(self, shelf: Shelf, limits: Limits, corrections: Path) -> None:
        self.shelf, self.limits = shelf, limits
        self.corrections = Corrections(corrections, limits.correction_bytes)
        self.metrics = Counters()
        self.memory = Memory(limits.memory_bytes)
        self.pool = Pool(limits, self.metrics, self.memory)
        self.converter = Converter(limits)
        self._threads: anyio.CapacityLimiter | None = None

    async def aside(self, function: Callable[[], _T]) -> _T:
        """Compute in a thread; a few at a time, so that hostile images cannot fill the memory together."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self.limits.workers + 1)
        return await anyio.to_thread.run_sync(function, limiter=self._threads)

    async def prepare(self, body: bodies.Body, ask: Ask) -> Work:
        """Check all that can be checked before the queue."""
        options = Options(beams=ask.beam, max_tokens=ask.max_tokens, n_best=ask.n_best, question=ask.question)
        if ask.format is not None:
            bodies.check_format(ask.format)
        contents = await self.aside(lambda: bodies.examine(body.data, body.name, self.limits))
        pages = tuple(dict.fromkeys(sources.parse_pages(ask.pages or ""))) or tuple(range(1, contents.pages + 1))
        bodies.check_pages(pages, contents.pages, self.limits.pages)
        crop = bodies.parse_crop(ask.crop)
        task = ask.task
        if self.shelf.chooses and ask.model is None and task is None:
            seen = Input(body.data, body.name, pages)
            chosen = await self.aside(lambda: choose_task(seen, crop, self.memory))
            task = chosen if self.shelf.offers_task(chosen) else None
            options = options if chosen == tasks.DEFAULT else replace(options, n_best=1)
        reader = await self.aside(lambda: self.shelf.find(ask.model, task))
        reader.task.prompt_text(options.question)  # complains about a question that is missing or not wanted
        return Work(
            reader=reader,
            options=options,
            source=body.data,
            name=body.name,
            pages=pages,
            pixels=contents.pixels,
            memory=self.memory,
            crop=crop,
        )

    def finish(self, work: Work, notation: str | None) -> Callable[[Document], dict[str, Json]]:
        """Return the function that turns the result of a work into its answer."""

        def answer(document: Document) -> dict[str, Json]:
            if all(page.status.kind == "failed" for page in document.pages):
                raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, document.status.reason)
            self.metrics.read(work.seconds)
            if notation is None:
                return to_dict(document)
            return {**to_dict(document), "output": {"format": notation, "text": formats.write(document, notation)}}

        return answer


def _api(service: Service) -> APIRouter:
    router = APIRouter()
    limits, pool = service.limits, service.pool

    @router.post(
        "/v1/read",
        response_model=DocumentShape,
        responses={**descriptions.READ_ANSWER, **descriptions.FILE_PROBLEMS},
        openapi_extra=descriptions.file_body(with_options=True),
    )
    async def read(request: Request, ask: Annotated[Ask, Query()]) -> Response:
        """Read a picture or PDF.

        Send the file as the body, or in the field `file` of a form; options go in the address or the form.
        """
        async with AsyncExitStack() as stack:
            body = await stack.enter_async_context(bodies.receive(request, limits, service.memory, bodies.parse_file))
            ask = bodies.with_fields(ask, body, request)
            work = await service.prepare(body, ask)
            finish = service.finish(work, ask.format)
            if not ask.stream:
                pool.submit(work)
                return JSONResponse(finish(await events.wait_for(request, work, pool, limits.read_seconds)))
            mailbox = events.Mailbox()
            work.listener = mailbox.put
            pool.submit(work)
            kept = stack.pop_all()

            async def tidy() -> None:
                pool.abandon(work)
                await kept.aclose()

            return events.EventResponse(events.tell(work, pool, mailbox, limits.read_seconds, finish), tidy)

    @router.post(
        "/v1/preview",
        response_class=Response,
        responses={**descriptions.PREVIEW_ANSWER, **descriptions.FILE_PROBLEMS},
        openapi_extra=descriptions.file_body(with_options=False),
    )
    async def preview(request: Request, page: Annotated[int, Query(ge=1, le=9999)] = 1) -> Response:
        """Draw one page of a PDF or TIFF as a PNG; the header `Pages` says how many there are."""
        async with bodies.receive(request, limits, service.memory, bodies.parse_file) as body:
            contents = await service.aside(lambda: bodies.examine(body.data, body.name, limits))
            bodies.check_pages((page,), contents.pages, limits.pages)
            png = await service.aside(lambda: _draw(body, page, service.memory))
        return Response(png, media_type="image/png", headers={"Pages": str(contents.pages)})

    @router.post("/v1/convert", responses=descriptions.TEXT_PROBLEMS, openapi_extra=descriptions.convert_body())
    async def convert(request: Request) -> Converted:
        """Write a formula or a document in another notation."""
        small = replace(limits, body_bytes=limits.text_characters * _BYTES_PER_CHARACTER)
        async with bodies.receive(request, small, service.memory, bodies.parse_text) as text:
            wanted = problems.validated(lambda: Conversion.model_validate_json(text))
        if len(wanted.text) > limits.text_characters:
            raise HttpError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The text is longer than {limits.text_characters:,} characters."
            )
        return Converted(text=await service.converter.convert(wanted))

    @router.get("/v1/models", responses=descriptions.problems())
    def models() -> ModelList:
        """List the models that requests may name."""
        default = service.shelf.default.name
        offered = [ModelShape(**asdict(offer), default=offer.name == default) for offer in service.shelf.offers]
        return ModelList(
            models=offered, tasks=list(tasks.TASKS), formats=list(formats.NOTATIONS), chooses=service.shelf.chooses
        )

    @router.get("/health")
    def health() -> Health:
        """Say whether the server is up and how busy it is."""
        names = list(service.shelf.names)
        return Health(status="ok", version=__version__, models=names, waiting=pool.waiting, reading=pool.busy)

    @router.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={**descriptions.METRICS_ANSWER, **descriptions.problems()},
    )
    def metrics() -> PlainTextResponse:
        """Give counters in the text format of Prometheus."""
        gauges = {"waiting": pool.waiting, "reading": pool.busy}
        gauges |= {"body_bytes": service.memory.bodies, "held_bytes": service.memory.held}
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")

    return router


def _corrections(service: Service) -> APIRouter:
    router = APIRouter(prefix="/v1/corrections")
    kept = service.corrections

    @router.post("", responses=descriptions.CORRECTION_PROBLEMS, openapi_extra=descriptions.correction_body())
    async def keep(request: Request) -> Kept:
        """Keep a picture with what is truly written on it; nothing is kept that is not sent here."""
        async with bodies.receive(request, service.limits, service.memory, bodies.parse_file) as body:
            correction = problems.validated(lambda: Correction.model_validate(body.fields))
            await service.aside(lambda: bodies.examine(body.data, body.name, service.limits))
            return await service.aside(lambda: kept.keep(correction, body.data))

    @router.get("", name="count", responses=descriptions.problems())
    async def count() -> Kept:
        """Say how many corrections are kept, and where."""
        return await service.aside(kept.tell)

    @router.get(
        "/export",
        response_class=StreamingResponse,
        responses={**descriptions.EXPORT_ANSWER, **descriptions.problems()},
    )
    async def export() -> StreamingResponse:
        """Give all corrections as a zip: for each task a folder of pictures with labels.tsv."""
        return StreamingResponse(await service.aside(kept.export), media_type="application/zip")

    @router.delete("", responses=descriptions.problems())
    async def erase() -> Kept:
        """Delete all corrections."""
        return await service.aside(kept.erase)

    return router


def _draw(body: bodies.Body, page: int, memory: Memory) -> bytes:
    image = open_pages(body.data, _PREVIEW_DPI, body.name, memory)[page - 1]
    image.thumbnail((_PREVIEW_SIDE, _PREVIEW_SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
