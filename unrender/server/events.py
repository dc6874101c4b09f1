"""Answers in the making: waiting for a result, and telling it as server-sent events while it grows."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from unrender.documents import Document, Json
from unrender.server.pool import Pool
from unrender.server.problems import HttpError
from unrender.server.work import Work

_KEEP_ALIVE_SECONDS = 10.0
_PAUSE_SECONDS = 0.04  # between two texts: faster than anybody reads

Finish = Callable[[Document], dict[str, Json]]


async def wait_for(request: Request, work: Work, pool: Pool, seconds: float) -> Document:
    """Return the result in time, or abandon it: when time is up, or when the client goes away."""
    result = asyncio.wrap_future(work.result)
    leaving = asyncio.create_task(_client_leaves(request))
    try:
        await _first(result, leaving, seconds)
        if result.done():
            return result.result()
    finally:
        leaving.cancel()
        if not result.done():
            pool.abandon(work)
            result.cancel()
    if leaving.done() and not leaving.cancelled():
        raise HttpError(HTTPStatus.BAD_REQUEST, "The client went away.")
    raise _too_slow(seconds)


class Mailbox:
    """Carries the newest text from a worker's thread to the event loop; older ones may be lost."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._latest: tuple[int, str] | None = None

    def put(self, page: int, text: str) -> None:
        """Be told a page's text so far; called by the worker."""
        self._latest = (page, text)
        self._loop.call_soon_threadsafe(self._news.set)

    def take(self) -> tuple[int, str] | None:
        """Return the newest text, once."""
        latest, self._latest = self._latest, None
        self._news.clear()
        return latest

    async def wait(self) -> None:
        await self._news.wait()


async def tell(work: Work, pool: Pool, mailbox: Mailbox, seconds: float, finish: Finish) -> AsyncIterator[str]:
    """Yield events: `text` as it grows, then `document` or `error`."""
    result = asyncio.wrap_future(work.result)
    end = time.monotonic() + seconds
    try:
        while not result.done():
            left = end - time.monotonic()
            if left <= 0:
                yield _event("error", _too_slow(seconds).body)
                return
            news = asyncio.create_task(mailbox.wait())
            try:
                await _first(result, news, min(left, _KEEP_ALIVE_SECONDS))
            finally:  # also when the client goes away: a task that nobody ends complains when it is collected
                news.cancel()
            latest = mailbox.take()
            yield ": reading\n\n" if latest is None else _event("text", {"page": latest[0], "text": latest[1]})
            await asyncio.sleep(_PAUSE_SECONDS)
        try:
            yield _event("document", finish(result.result()))
        except Exception as error:  # noqa: BLE001 - the status is sent already: an event tells what is wrong
            yield _event("error", HttpError.of(error).body)
    finally:
        if not result.done():
            pool.abandon(work)
            result.cancel()


class EventResponse(StreamingResponse):
    """A stream of events that tidies up when it ends, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], tidy: Callable[[], Awaitable[None]]) -> None:
        super().__init__(events)
        self._tidy = tidy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._tidy()


async def _first(result: "asyncio.Future[Document]", other: "asyncio.Task[None]", seconds: float) -> None:
    """Wait until one of them is done, or the time is over."""
    both: set[asyncio.Future[Document] | asyncio.Task[None]] = {result, other}
    await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


async def _client_leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_slow(seconds: float) -> HttpError:
    return HttpError.busy(f"Reading exceeded the limit of {seconds:g} seconds; send fewer pages, or try again later.")


def _event(name: str, data: dict[str, Json]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
