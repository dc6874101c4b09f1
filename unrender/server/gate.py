"""What stands before every route: names, the token, how many requests at once, safe headers, counts, the last net.

Plain ASGI, so that a body is not read and a client's leaving is not hidden from the routes.
The server answers under the names it is known by, and no page of another site. A name that somebody else's DNS points
here (rebinding) would let a foreign page read the answers; a foreign page that posts without reading them would still
cost work. An address in digits cannot be rebound, so any is taken.
"""

import asyncio
import hmac
import ipaddress
import logging
import socket
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unrender.server.counters import Counters
from unrender.server.limits import Budget, Limits
from unrender.server.problems import HttpError

_LOG = logging.getLogger("unrender.server")
_DRAIN_SECONDS = 5.0
_LAST_ANSWERS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)  # the connection ends with them
_DRAINED = 4  # times the limit: so much of a body that is too large is still received
_CLOSED_PATHS = ("/v1/", "/metrics")  # only these need the token: the page itself holds nothing
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ANY = "*"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_FOREIGN = ("cross-site", "same-site")  # what browsers say of a page that is not ours
_LONGEST_QUOTE = 100


def names_of(host: str) -> tuple[str, ...]:
    """Return the names a server is known by that listens on an address."""
    own = [host, "localhost"]
    if not is_loopback(host):
        machine = socket.gethostname()
        own += [machine, machine.partition(".")[0], f"{machine.partition('.')[0]}.local"]
    return tuple(own)


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


class Hosts:
    """Checks the Host and the Origin of requests: its own or allowed ones; without any, every Host is taken."""

    def __init__(self, own: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(name.lower() for name in allowed)
        self._names = self._allowed | {name.lower() for name in own}

    def check(self, method: str, headers: Headers) -> None:
        """Raise the HttpError of a request that is not meant for this server, or not sent by its own page."""
        host = headers.get("host", "").lower()
        if self._names and host and not self._knows(host):
            name = host[:_LONGEST_QUOTE]
            raise HttpError(
                HTTPStatus.MISDIRECTED_REQUEST,
                f"This server does not answer to the name {name!r}; it can be started with --allow-host.",
            )
        if method in _SAFE_METHODS:
            return
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "") in _FOREIGN if origin is None else not self._is_own(origin, host)
        if foreign:
            raise HttpError(
                HTTPStatus.FORBIDDEN,
                "The page of another site cannot use this server; it can be started with --allow-host.",
            )

    def _knows(self, host: str) -> bool:
        name = _name(host)
        return ANY in self._names or host in self._names or name in self._names or _is_address(name)

    def _is_own(self, origin: str, host: str) -> bool:
        """Say whether an origin is the server's own page or that of a name it was told of."""
        try:
            other = urlsplit(origin.lower()).netloc
        except ValueError:
            return False
        if not other:  # null: a sandboxed frame, or a file
            return False
        return other == host or ANY in self._names or other in self._allowed


def _name(host: str) -> str:
    """Return a Host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Gate:
    """Lets requests through, or answers in the routes' place."""

    def __init__(self, app: ASGIApp, *, limits: Limits, metrics: Counters, token: str, hosts: Hosts) -> None:
        self._app, self._metrics, self._limits = app, metrics, limits
        self._hosts, self._token = hosts, token.encode()
        self._requests = Budget(limits.connections)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._metrics.count("requests", route=_route(scope), status=str(message["status"]))
                if message["status"] != HTTPStatus.REQUEST_TIMEOUT:
                    await body.drain(_DRAINED * self._limits.body_bytes)
                ends = message["status"] in _LAST_ANSWERS or not body.complete
                self._dress(message, {"Connection": "close"} if ends else {})
            await send(message)

        counted = False
        try:
            self._hosts.check(scope["method"], Headers(scope=scope))
            self._check_token(scope)
            self._requests.take(1)
            counted = True
            await self._app(scope, body.receive, answer)
        except ClientDisconnect:  # nobody is left to be told
            return
        except Exception as error:  # noqa: BLE001 - the last net: whatever it is, the client gets an answer
            if not isinstance(error, HttpError):
                _LOG.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                await HttpError.of(error).response()(scope, body.receive, answer)
        finally:
            if counted:
                self._requests.give(1)

    def _dress(self, message: Message, more: dict[str, str]) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in {**_HEADERS, **more}.items():
            headers.setdefault(name, value)

    def _check_token(self, scope: Scope) -> None:
        if not self._token or not str(scope["path"]).startswith(_CLOSED_PATHS):
            return
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), self._token):
            raise HttpError(
                HTTPStatus.UNAUTHORIZED,
                "This server needs a token; send it as `Authorization: Bearer TOKEN`.",
                headers={"WWW-Authenticate": "Bearer"},
            )


class _Body:
    """Knows whether a body has been received to its end."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self.complete = False
        self._awaited = (
            Headers(scope=scope).get("expect", "").lower() != "100-continue"
        )  # else sent only when asked for

    async def receive(self) -> Message:
        message = await self._receive()
        self._awaited = True
        self.complete = self.complete or not message.get("more_body", False)
        return message

    async def drain(self, limit: int) -> None:
        """Receive and forget the rest: a client that is still sending when the connection ends sees no answer."""
        forgotten = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while self._awaited and not self.complete and forgotten <= limit:
                    forgotten += len((await self.receive()).get("body", b""))


def _route(scope: Scope) -> str:
    """Return the pattern of the route, so that invented paths do not become metrics."""
    return str(getattr(scope.get("route"), "path", "other"))
