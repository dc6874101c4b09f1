"""What a read request asks for, checked before anything is done about it."""

from http import HTTPStatus

from fastapi import Request

from unrender import formats
from unrender.server import bodies, problems
from unrender.server.problems import HttpError
from unrender.server.shapes import Ask
from unrender.server.work import Crop


def with_fields(ask: Ask, body: bodies.Body, request: Request) -> Ask:
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
