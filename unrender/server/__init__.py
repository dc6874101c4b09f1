"""The HTTP API and the web page; needs the extra `serve`."""

import ipaddress
import socket
import sys
from contextlib import suppress

import uvicorn

from unrender.errors import ConfigError
from unrender.server.app import create_app
from unrender.server.limits import Limits
from unrender.server.shelf import Shelf

__all__ = ["Limits", "Shelf", "create_app", "serve"]

_BACKLOG = 512
_GRACE_SECONDS = 30  # for the answers under way when the server is stopped
_IDLE_SECONDS = 10  # before an unused connection is closed


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    model: str | None = None,
    token: str = "",
    limits: Limits | None = None,
) -> None:
    """Open the model, listen, and answer until interrupted; port 0 takes any that is free."""
    app = create_app(Shelf.open(model), limits, token)
    with _listen(host, port) as listener:
        _announce(host, listener.getsockname()[1], token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(f"Cannot listen on {host}, port {port} ({error.strerror}); choose another --port.") from error


def _announce(host: str, port: int, token: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"unrender is at http://{shown}:{port} (Ctrl-C ends it)\n")
    if not token and not _is_loopback(host):
        sys.stderr.write("Anyone who can reach this address can use it; --token keeps others out.\n")
    sys.stderr.flush()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
