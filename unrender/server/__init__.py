"""The HTTP API and the web page; needs the extra `serve`."""

import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from unrender.errors import ConfigError
from unrender.server.app import create_app
from unrender.server.connections import BACKLOG, Quiet, bounded_protocol, socket_limit
from unrender.server.gate import Hosts, is_loopback, names_of
from unrender.server.limits import Limits
from unrender.server.shelf import Shelf

__all__ = ["Hosts", "Limits", "Shelf", "configure", "create_app", "serve"]

_QUIET = Quiet()
_GRACE_SECONDS = 30  # for the answers under way when the server is stopped
_IDLE_SECONDS = 10  # before a connection that sends nothing is closed


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
