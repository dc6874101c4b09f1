"""What the OpenAPI description says beyond what the routes' types tell: bodies, errors, examples.

All of it is drawn as one plain page, which needs neither scripts nor another server.
"""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from http import HTTPStatus
from typing import cast

from unrender.server.bodies import RAW_TYPES
from unrender.server.shapes import Ask, Conversion, Correction, ProblemShape

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
_Node = Mapping[str, object]
_CODE = re.compile(r"`([^`]+)`")


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
CORRECTION_PROBLEMS = FILE_PROBLEMS
EXPORT_ANSWER: dict[int | str, dict[str, object]] = {
    200: {"description": "A zip archive.", "content": {"application/zip": _BINARY}}
}
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


def correction_body() -> dict[str, object]:
    """Describe the body of a correction."""
    fields = Correction.model_json_schema()
    properties = {"file": {"type": "string", "format": "binary"}, **fields["properties"]}
    form = {"type": "object", "required": ["file", *fields["required"]], "properties": properties}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}}}


def convert_body() -> dict[str, object]:
    """Describe the body of a conversion."""
    content = {"application/json": {"schema": Conversion.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def render(description: _Node, address: str) -> str:
    """Write the description as HTML, with commands for the server at this address."""
    info = _at(description, "info")
    body = "".join(
        _operation(address, path, method, _at(methods, method))
        for path, methods in cast(Mapping[str, _Node], description["paths"]).items()
        for method in methods
    )
    shapes = _at(_at(description, "components"), "schemas")
    parts = "".join(_shape(name, _at(shapes, name)) for name in sorted(shapes))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>unrender: the HTTP API</title><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="/style.css"></head>'
        f'<body class="docs"><header><h1><a href="/">unrender</a></h1><span>HTTP API {_text(info, "version")}</span>'
        f'</header><main><p>{_text(info, "summary")} The same as data: <a href="/openapi.json">openapi.json</a>.</p>'
        f"{body}<h2>Shapes</h2>{parts}</main></body></html>"
    )


def _operation(address: str, path: str, method: str, operation: _Node) -> str:
    parts = [f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>", _paragraphs(operation)]
    rows = [_parameter(item) for item in cast(list[_Node], operation.get("parameters", []))]
    if rows:
        parts.append(f"<table><caption>Parameters</caption>{''.join(rows)}</table>")
    body = _at(_at(operation, "requestBody"), "content")
    if body:
        kinds = ", ".join(f"<code>{escape(kind)}</code>" for kind in body)
        parts.append(f"<p>Body: {kinds}</p>")
    parts.append(f"<p>Try it:</p><pre><code>{escape(_command(address + path, method, list(body)))}</code></pre>")
    answers = cast(Mapping[str, _Node], operation["responses"])
    parts.append("<table><caption>Answers</caption>")
    parts += [f"<tr><th>{status}</th><td>{_answer(answers[status])}</td></tr>" for status in sorted(answers)]
    return "".join([*parts, "</table></section>"])


def _command(address: str, method: str, kinds: list[str]) -> str:
    if method == "get":
        return f"curl {address}"
    if "application/json" in kinds:
        return f'curl {address} -H \'Content-Type: application/json\' -d \'{{"text": "x ^ 2", "target": "mathml"}}\''
    return f"curl {address} -F file=@formula.png"


def _parameter(item: _Node) -> str:
    schema = _at(item, "schema")
    text = _prose(item.get("description") or schema.get("description") or "")
    default = f" <small>default {escape(json.dumps(schema['default']))}</small>" if schema.get("default") else ""
    return (
        f"<tr><th><code>{_text(item, 'name')}</code></th><td>{text} <small>{_kind(schema)}</small>{default}</td></tr>"
    )


def _answer(answer: _Node) -> str:
    parts = [_prose(answer.get("description", ""))]
    for kind, content in cast(Mapping[str, _Node], answer.get("content", {})).items():
        example = content.get("example")
        if example is not None:
            text = example if isinstance(example, str) else json.dumps(example, indent=2)
            parts.append(f"<details><summary>{escape(kind)}</summary><pre><code>{escape(text)}</code></pre></details>")
    return "".join(parts)


def _shape(name: str, schema: _Node) -> str:
    fields = _at(schema, "properties")
    rows = "".join(
        f"<tr><th><code>{escape(name)}</code></th><td><small>{_kind(_at(fields, name))}</small></td></tr>"
        for name in fields
    )
    title = escape(name.removesuffix("Shape"))
    return f'<section id="{escape(name)}"><h3>{title}</h3>{_paragraphs(schema)}<table>{rows}</table></section>'


def _kind(schema: _Node) -> str:
    """Say in few words what a value may be."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f'<a href="#{escape(name)}">{escape(name.removesuffix("Shape"))}</a>'
    if "enum" in schema:
        return ", ".join(escape(str(value)) for value in cast(list[object], schema["enum"]))
    if "anyOf" in schema:
        kinds = [_kind(part) for part in cast(list[_Node], schema["anyOf"]) if part.get("type") != "null"]
        return " or ".join(kinds)
    if schema.get("type") == "array":
        return f"list of {_kind(_at(schema, 'items'))}"
    return " ".join(_words(schema)) or "any JSON"


def _words(schema: _Node) -> Iterator[str]:
    if "type" in schema:
        yield _text(schema, "type")
    for key, word in (("minimum", "from"), ("maximum", "to")):
        if key in schema:
            yield f"{word} {schema[key]}"


def _paragraphs(node: _Node) -> str:
    return "".join(f"<p>{_prose(part)}</p>" for part in str(node.get("description", "")).split("\n\n"))


def _prose(text: object) -> str:
    """Escape a text and set what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(str(text)))


def _at(node: _Node, key: str) -> _Node:
    return cast(_Node, node.get(key, {}))


def _text(node: _Node, key: str) -> str:
    return escape(str(node.get(key, "")))
