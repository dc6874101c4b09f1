"""Whom the server answers: under the names it is known by, and no page of another site.

A name that somebody else's DNS points here (rebinding) would let a foreign page read the answers; a foreign page that
posts without reading them would still cost work. An address in digits cannot be rebound, so any is taken.
"""

import ipaddress
import socket
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from unrender.server.problems import HttpError

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
