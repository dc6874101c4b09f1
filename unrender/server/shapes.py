"""The shapes of requests and answers, for validation and for the OpenAPI description.

The answers mirror `documents`; what is unknown is left out of them, so most keys are optional.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from unrender.documents import Box, Line, StatusKind
from unrender.formats import NOTATIONS, PARSED_NOTATIONS
from unrender.tasks import TASKS

_PAGES = r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$"
_SHARE = r"(0(\.\d{1,6})?|1(\.0{1,6})?)"
_CROP = rf"^{_SHARE}(,{_SHARE}){{3}}$"
_ID = r"^[0-9A-Za-z][0-9A-Za-z.-]{0,63}$"
_LONGEST_CORRECTION = 20_000
_NAME = r"^[\w.-]{1,100}$"  # no slash: a request names models, never paths


def _names(values: Iterable[str]) -> dict[str, JsonValue]:
    return {"enum": list(values)}


class Ask(BaseModel):
    """What a read request may choose; a form's fields count before the address's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: Annotated[
        str | None,
        Field(
            description="What the picture shows; with neither task nor model, that is found out by looking.",
            examples=["formula"],
            json_schema_extra=_names(TASKS),
        ),
    ] = None
    model: Annotated[
        str | None, Field(description="Name of one of the models at /v1/models.", pattern=_NAME, examples=["formula"])
    ] = None
    format: Annotated[
        str | None,
        Field(
            description="Also write the result in this notation, as `output`.",
            examples=["latex"],
            json_schema_extra=_names(NOTATIONS),
        ),
    ] = None
    beam: Annotated[int | None, Field(ge=1, le=16, description="Beam width; 1 is greedy.")] = None
    n_best: Annotated[int, Field(ge=1, le=16, description="How many readings to give.")] = 1
    max_tokens: Annotated[int | None, Field(ge=1, le=10_000, description="Stop a page after so many tokens.")] = None
    pages: Annotated[
        str | None,
        Field(pattern=_PAGES, max_length=200, description="Pages to read; all by default.", examples=["1-2"]),
    ] = None
    crop: Annotated[
        str | None,
        Field(
            pattern=_CROP,
            description="The part of each page to read: left, top, right, bottom, each from 0 to 1.",
            examples=["0.1,0.2,0.9,0.5"],
        ),
    ] = None
    question: Annotated[str, Field(max_length=500, description="What to ask, for the task `question`.")] = ""
    stream: Annotated[bool, Field(description="Answer with server-sent events while reading.")] = False


class Conversion(BaseModel):
    """A text to write in another notation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[str, Field(description="What to convert.", examples=[r"\frac { 1 } { 2 }"])]
    source: Annotated[str, Field(description="The notation it is in.", json_schema_extra=_names(PARSED_NOTATIONS))] = (
        "latex"
    )
    target: Annotated[str, Field(description="The notation wanted.", json_schema_extra=_names(NOTATIONS))] = "mathml"


class Converted(BaseModel):
    """A text in the notation asked for."""

    text: str


class Correction(BaseModel):
    """What a person says is written on a picture."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(description="A name for it; a later one of the same name replaces it.", pattern=_ID)]
    task: Annotated[str, Field(description="What the picture shows.", json_schema_extra=_names(TASKS))]
    text: Annotated[str, Field(description="What is written there.", min_length=1, max_length=_LONGEST_CORRECTION)]


class Kept(BaseModel):
    """How many corrections the server keeps, and where."""

    count: int
    folder: str


class StatusShape(BaseModel):
    """How a reading ended; `position` is the token a repetition was cut at, `reason` why a page failed."""

    kind: StatusKind
    position: int | None = None
    reason: str = ""
    box: Box | None = None


class AlternativeShape(BaseModel):
    """Another token the model considered."""

    text: str = ""
    probability: float


class TokenShape(BaseModel):
    """One piece of the text, how sure the model was, what else it might be, and where it was seen."""

    text: str = ""
    probability: float
    alternatives: list[AlternativeShape] = []
    box: Box | None = None


class ReadingShape(BaseModel):
    """One of the n best."""

    text: str = ""
    written: str = ""
    confidence: float


class DifferenceShape(BaseModel):
    """A place where a reading, typeset, does not look like the picture."""

    text: str = ""
    box: Box


class CheckShape(BaseModel):
    """What came of typesetting a reading."""

    likeness: float
    differences: list[DifferenceShape] = []
    instead_of: str = ""


class BlockShape(BaseModel):
    """One thing on a page; `fields` is the JSON of a receipt or form, `source` says where its words are from."""

    kind: str
    text: str = ""
    written: str = ""
    box: Box | None = None
    tokens: list[TokenShape] = []
    fields: JsonValue = None
    level: int = 0
    confidence: float | None = None
    children: list["BlockShape"] = []
    readings: list[ReadingShape] = []
    lines: list[Line] = []
    source: str = ""
    continued: bool = False
    check: CheckShape | None = None


class PageShape(BaseModel):
    """One page; `number` counts from 1."""

    number: int
    width: int
    height: int
    text: str
    blocks: list[BlockShape] = []
    status: StatusShape


class Output(BaseModel):
    """The result in the notation asked for with `format`."""

    format: str
    text: str


class DocumentShape(BaseModel):
    """What was read; `status` is the worst of the pages, `confidence` that of the least certain block."""

    source: str
    model: str
    task: str
    status: StatusShape
    text: str
    confidence: float | None = None
    pages: list[PageShape]
    output: Output | None = None


class ProblemShape(BaseModel):
    """What went wrong, in one sentence; `position` is the character of a text that is wrong."""

    status: int
    error: str
    position: int | None = None


class ModelShape(BaseModel):
    """A model that requests may name."""

    name: str
    task: str
    licence: str
    seed: str
    default: bool


class ModelList(BaseModel):
    """The models of this server, the default first, and all that can be asked of them."""

    models: list[ModelShape]
    tasks: list[str]
    formats: list[str]
    chooses: Annotated[bool, Field(description="Whether it looks what a picture shows when nobody says.")]


class Health(BaseModel):
    """Whether the server reads, and how busy it is."""

    status: Literal["ok"]
    version: str
    models: list[str]
    waiting: int
    reading: int
