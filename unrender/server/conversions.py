"""Conversions: each in a child process with a limit of time and memory, a few at once."""

import asyncio
from http import HTTPStatus

import anyio

from unrender.images.children import Children, TooMuchError
from unrender.images.children import Limits as ChildLimits
from unrender.server.limits import Limits
from unrender.server.problems import HttpError
from unrender.server.shapes import Conversion

_DESK = "unrender.formats"
_AT_ONCE = 2
_MEMORY = 1 << 30  # bytes of address space


class Converter:
    """Converts texts; a slow one is ended, and meanwhile holds one child and nobody who reads."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.convert_seconds
        limits_of_child = ChildLimits(seconds=self._seconds, memory=_MEMORY, children=_AT_ONCE)
        self._children = _Converters(limits_of_child, _DESK)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def convert(self, wanted: Conversion) -> str:
        """Return the text in the notation wanted; an HttpError says what is wrong with it."""
        try:
            async with asyncio.timeout(self._seconds):
                await self._turns.acquire()
        except TimeoutError as error:
            raise HttpError.busy("The server is busy with other conversions; try again shortly.") from error
        try:
            return await anyio.to_thread.run_sync(lambda: self._children.convert(wanted))
        finally:
            self._turns.release()

    def close(self) -> None:
        """End the children."""
        self._children.close()


class _Converters(Children):
    def convert(self, wanted: Conversion) -> str:
        data = wanted.text.encode(errors="surrogatepass")
        header = {"task": "convert", "name": "text", "source": wanted.source, "target": wanted.target}
        try:
            with self._child(data) as child:
                reply = child.ask({**header, "bytes": len(data)}, data, self.limits.seconds)
                if reply is None or "memory" in reply:
                    raise TooMuchError(
                        f"The conversion exceeds the limit of {self.limits.seconds:g} seconds; send a shorter text."
                        if child.late
                        else "The conversion needs more memory than it may have; send a shorter text."
                    )
        except TooMuchError as error:
            raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        if "text" in reply:
            return str(reply["text"])
        if "refusal" not in reply:  # a mistake of ours in there
            raise RuntimeError(str(reply.get("error")))
        position = int(str(reply["position"])) if "position" in reply else None
        raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, str(reply["refusal"]), position=position)
