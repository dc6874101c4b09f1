"""The HTTP API and the web page; needs the extra `serve`.

Connections cost nothing to hold open: their number is bounded, and so is the time without a request. uvicorn bounds
neither sockets nor the time a header may take; `bounded_protocol` is its protocol with both.
"""

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from unrender.errors import ConfigError
from unrender.server.app import create_app
from unrender.server.gate import Hosts, is_loopback, names_of
from unrender.server.limits import Limits
from unrender.server.shelf import Shelf

__all__ = ["Hosts", "Limits", "Shelf", "configure", "create_app", "serve"]

_GRACE_SECONDS = 30  # for the answers under way when the server is stopped
_IDLE_SECONDS = 10  # before a connection that sends nothing is closed
BACKLOG = 256  # connections accepted at once
_RESERVED = 128  # open files that are no connections: models, libraries, children
_FEWEST = 16
_QUIET_SECONDS = 60.0


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    model: str | None = None,
    token: str = "",
    limits: Limits | None = None,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Open the model, listen, and answer until interrupted; port 0 takes any that is free.

    The server answers under the name of its host, under addresses in digits, and under `allowed_hosts`.
    """
    limits = limits or Limits()
    app = create_app(Shelf.open(model), limits, token, hosts=Hosts(names_of(host), allowed_hosts))
    with _listen(host, port) as listener:
        _announce(host, listener.getsockname()[1], token)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(configure(app, limits)).run(sockets=[listener])


def configure(app: FastAPI, limits: Limits, idle_seconds: float = _IDLE_SECONDS) -> uvicorn.Config:
    """Return how uvicorn serves the app: connections are bounded, and none of them fills the log."""
    logging.getLogger("asyncio").addFilter(_QUIET)
    return uvicorn.Config(
        app,
        http=bounded_protocol(socket_limit(limits.connections), idle_seconds),
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _listen(host: str, port: int) -> socket.socket:
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"Cannot listen on {host}, port {port} ({error.strerror}); choose another --port.") from error


def _announce(host: str, port: int, token: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"unrender is at http://{shown}:{port} (Ctrl-C ends it)\n")
    if not token and not is_loopback(host):
        sys.stderr.write("Anyone who can reach this address can use it; --token keeps others out.\n")
    sys.stderr.flush()


def bounded_protocol(sockets: int, seconds: float) -> type[H11Protocol]:
    """Make the protocol of a server that holds so many sockets.

    Without a whole header for `seconds`, or with an answer that is not taken for so long, a connection is closed.
    When all sockets are taken, whoever has been silent longest makes room.
    """
    silent: dict[H11Protocol, None] = {}  # connections without a request, the oldest first

    class Bounded(H11Protocol):
        _timer: asyncio.TimerHandle | None = None  # until it is closed for its silence
        _stalled: asyncio.TimerHandle | None = None  # until it is closed because it takes no answer

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > sockets:
                oldest = next(iter(silent), self)
                assert isinstance(oldest, Bounded)
                oldest._forget()
                oldest.transport.abort()
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            self._go_on()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            self._go_on()
            super().resume_writing()

        def _watch(self) -> None:
            """Count the time from the end of one request to the whole header of the next."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget()
            elif self not in silent and not self.transport.is_closing():
                silent[self] = None
                self._timer = self.loop.call_later(seconds, self.transport.abort)

        def _go_on(self) -> None:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None

        def _forget(self) -> None:
            silent.pop(self, None)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded


def socket_limit(wanted: int) -> int:
    """Return how many connections there may be; the process is allowed more open files where that is possible."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + BACKLOG + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(_FEWEST, min(wanted, soft - BACKLOG - _RESERVED))


class Quiet(logging.Filter):
    """Lets a warning of the event loop about a lack of sockets through once a minute, without its traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -_QUIET_SECONDS

    def filter(self, record: logging.LogRecord) -> bool:
        if "socket.accept()" not in str(record.msg):
            return True
        now = time.monotonic()
        if now - self._last < _QUIET_SECONDS:
            return False
        self._last = now
        record.msg, record.args, record.exc_info = "There are too few open files for all connections.", (), None
        return True


_QUIET = Quiet()  # one, however often a server is configured
