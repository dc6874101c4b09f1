"""What a client is told when something is wrong: a status and one sentence, as JSON; never a traceback."""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from unrender.documents import Json
from unrender.errors import LatexError, UnrenderError

_LONGEST_QUOTE = 200
_T = TypeVar("_T")
_WITHOUT_QUOTE = frozenset({"missing", "extra_forbidden"})
_LIMITS = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "bool_parsing": "true or false",
    "greater_than_equal": "at least {}",
    "less_than_equal": "at most {}",
    "string_too_long": "at most {} characters long",
}
_FORMS = {
    "pages": "give page numbers such as 1-4,7",
    "crop": "give left,top,right,bottom, each from 0 to 1, such as 0,0.5,1,1",
    "model": "give the name of one of the models at /v1/models",
}
_OPTION = re.compile(r"--(task|model|format|beam|n-best|max-tokens|pages|question)\b")


class HttpError(Exception):
    """An answer other than success."""

    def __init__(
        self, status: int, sentence: str, *, headers: Mapping[str, str] | None = None, position: int | None = None
    ):
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})
        self.position = position  # of the character in a text that is wrong

    @classmethod
    def busy(cls, sentence: str, retry_seconds: int = 1) -> "HttpError":
        return cls(HTTPStatus.SERVICE_UNAVAILABLE, sentence, headers={"Retry-After": str(retry_seconds)})

    @classmethod
    def of(cls, error: Exception) -> "HttpError":
        """Turn any error into a problem; one that is not the user's tells nothing of our insides."""
        if isinstance(error, HttpError):
            return error
        if isinstance(error, UnrenderError):
            positions = [part.position for part in (error, error.__cause__) if isinstance(part, LatexError)]
            return cls(HTTPStatus.UNPROCESSABLE_ENTITY, _in_fields(str(error)), position=next(iter(positions), None))
        return cls(HTTPStatus.INTERNAL_SERVER_ERROR, "The server made a mistake; its log says more.")

    @property
    def body(self) -> dict[str, Json]:
        position = {} if self.position is None else {"position": self.position}
        return {"status": self.status, "error": str(self), **position}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status, self.headers)


def install(app: FastAPI) -> None:
    """Let the app answer every error in the one shape."""
    app.add_exception_handler(HttpError, _answer)
    app.add_exception_handler(UnrenderError, _answer)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)


def validated(validate: Callable[[], _T]) -> _T:
    """Return what pydantic makes of a request, or say in one sentence what is wrong with it."""
    try:
        return validate()
    except ValidationError as error:
        raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, describe(list(error.errors()))) from error


def describe(errors: "list[Mapping[str, object]]") -> str:
    """Say in one sentence what pydantic found wrong."""
    parts = []
    for error in errors:
        location = error["loc"]
        names = [str(name) for name in location if name not in ("query", "body")] if isinstance(location, tuple) else []
        given = _quoted(error.get("input"))
        kind = str(error["type"])
        quote = f", got {given}" if len(given) <= _LONGEST_QUOTE and kind not in _WITHOUT_QUOTE else ""
        parts.append(f"{'.'.join(names) or 'body'}: {_sentence(kind, names, error)}{quote}")
    return "; ".join(parts) + "."


def _sentence(kind: str, names: list[str], error: Mapping[str, object]) -> str:
    """Say what pydantic found in the words of the API."""
    context = error.get("ctx")
    limits = context if isinstance(context, Mapping) else {}
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "string_pattern_mismatch":
        return _FORMS.get(names[-1] if names else "", "this has not the form that /docs describes")
    if kind == "missing":
        return "this field is missing"
    if kind in _LIMITS:
        return f"must be {_LIMITS[kind].format(*limits.values())}"
    return str(error["msg"])


def _quoted(value: object) -> str:
    return repr(value.decode(errors="replace") if isinstance(value, bytes) else value)


def _in_fields(sentence: str) -> str:
    """Name the request's own fields where the command line has options."""
    return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", sentence)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    return HttpError.of(error).response()


async def _answer_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, describe(list(error.errors()))).response()


async def _answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    sentences = {
        HTTPStatus.NOT_FOUND: f"There is nothing at {request.url.path[:_LONGEST_QUOTE]}; /docs lists what there is.",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} is not possible here; /docs says what is.",
    }
    sentence = sentences.get(HTTPStatus(error.status_code), str(error.detail))
    return HttpError(error.status_code, sentence, headers=error.headers).response()
