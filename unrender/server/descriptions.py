"""What the OpenAPI description says beyond what the routes' types tell: bodies, errors, examples."""

from http import HTTPStatus

from unrender.server.bodies import RAW_TYPES
from unrender.server.shapes import Ask, Conversion, ProblemShape

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/tiff")
_REASONS = {
    HTTPStatus.BAD_REQUEST: "The body is empty, or a form without a file.",
    HTTPStatus.UNAUTHORIZED: "The token is missing or wrong.",
    HTTPStatus.REQUEST_TIMEOUT: "The body came too slowly.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Too many bytes, pixels or pages.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "Neither an image nor a PDF.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A parameter that does not fit, or a file that is damaged.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The queue is full or time is up; `Retry-After` says when to come back.",
}
_SENTENCES = {
    HTTPStatus.BAD_REQUEST: "The form has no file; send one in the field `file`.",
    HTTPStatus.UNAUTHORIZED: "This server needs a token; send it as `Authorization: Bearer TOKEN`.",
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive within 30 seconds.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body exceeds the limit of 20,000,000 bytes; send a smaller file.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "image: this is neither a PDF nor an image in a known format.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "There is no notation called latx; did you mean latex?",
    HTTPStatus.SERVICE_UNAVAILABLE: "64 requests are waiting already; try again later.",
}
_DOCUMENT: dict[str, object] = {
    "source": "formula.png",
    "model": "formula",
    "task": "formula",
    "status": {"kind": "complete"},
    "text": "x ^ { 2 }",
    "confidence": 0.973,
    "pages": [
        {
            "text": "x ^ { 2 }",
            "number": 1,
            "width": 120,
            "height": 60,
            "blocks": [
                {
                    "kind": "formula",
                    "text": "x ^ { 2 }",
                    "tokens": [
                        {
                            "text": "x",
                            "probability": 0.991,
                            "alternatives": [{"text": "\\chi", "probability": 0.006}],
                            "box": {"x0": 8.0, "y0": 24.0, "x1": 40.0, "y1": 56.0},
                        }
                    ],
                    "confidence": 0.973,
                }
            ],
            "status": {"kind": "complete"},
        }
    ],
}
_EVENT = {
    "type": "object",
    "description": "One event; `data` is JSON.",
    "required": ["event", "data"],
    "properties": {"event": {"type": "string", "enum": ["text", "document", "error"]}, "data": {"type": "string"}},
}
_STREAM = 'event: text\ndata: {"page": 1, "text": "x ^"}\n\nevent: document\ndata: {"source": "formula.png", ...}\n'


def problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, object]]:
    """Describe the errors a route may answer with; the token may be missing on every one."""
    return {
        int(status): {
            "model": ProblemShape,
            "description": _REASONS[status],
            "content": {"application/json": {"example": {"status": int(status), "error": _SENTENCES[status]}}},
        }
        for status in (*statuses, HTTPStatus.UNAUTHORIZED)
    }


FILE_PROBLEMS = problems(*(status for status in _REASONS if status is not HTTPStatus.UNAUTHORIZED))
TEXT_PROBLEMS = problems(
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
READ_ANSWER: dict[int | str, dict[str, object]] = {
    200: {
        "description": "What was read; as server-sent events (`text`, then `document` or `error`) with `stream`.",
        "content": {
            "application/json": {"example": _DOCUMENT},
            "text/event-stream": {"schema": _EVENT, "example": _STREAM},
        },
    }
}
PREVIEW_ANSWER: dict[int | str, dict[str, object]] = {
    200: {
        "description": "The page as it is read.",
        "content": {"image/png": _BINARY},
        "headers": {"Pages": {"description": "How many pages there are.", "schema": {"type": "integer"}}},
    }
}
METRICS_ANSWER: dict[int | str, dict[str, object]] = {
    200: {"content": {"text/plain": {"example": 'unrender_requests_total{route="/v1/read",status="200"} 12\n'}}}
}


def file_body(*, with_options: bool) -> dict[str, object]:
    """Describe a body that is a file, or a form with one."""
    options = Ask.model_json_schema()["properties"] if with_options else {}
    form = {
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string", "format": "binary"}, **options},
    }
    raw = dict.fromkeys((*_IMAGE_TYPES, *RAW_TYPES), _BINARY)
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}, **raw}}}


def convert_body() -> dict[str, object]:
    """Describe the body of a conversion."""
    content = {"application/json": {"schema": Conversion.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}
