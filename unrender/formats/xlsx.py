"""Excel workbooks: a row of fields for each receipt, with numbers and dates as such; goods and taxes on further sheets.

A document without fields gives its tables, a sheet each.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import escape

from unrender.documents import Document, Json
from unrender.errors import NotationError
from unrender.formats import office
from unrender.formats.blocks import MERGED, PAGE, grid, value_of
from unrender.formats.markdown import expanded
from unrender.formats.text import blocks_of_fields

_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_BEGINNING = date(1899, 12, 30)  # Excel counts days from here
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_BOLD, _DATE = 1, 2  # of the styles below
_PLAIN_FORMAT = 'fillId="0" borderId="0" xfId="0"'
_STYLES = (
    f'<styleSheet xmlns="{_SHEET}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="3"><xf numFmtId="0" fontId="0" {_PLAIN_FORMAT}/>'
    f'<xf numFmtId="0" fontId="1" {_PLAIN_FORMAT} applyFont="1"/>'
    f'<xf numFmtId="14" fontId="0" {_PLAIN_FORMAT} applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_HEAD = (  # the names of the columns stay in sight
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView>'
    "</sheetViews>"
)
_NARROWEST, _WIDEST = 8, 60  # characters of a column
_LONGEST_TITLE = 31  # characters that Excel allows
_NOT_IN_TITLES = re.compile(r"[\\/*?:\[\]]")

Cell = str | int | float | None
Rows = list[list[Cell]]


def write_xlsx(documents: Sequence[Document]) -> bytes:
    """Write a workbook of one or several documents; a NotationError when there are neither fields nor tables."""
    sheets = _tables_of_fields(documents) or dict(_tables(documents))
    if not sheets:
        raise NotationError("Excel files can express fields and tables only, and this document has neither.")
    titles = list(sheets)
    names = [f"worksheets/sheet{number}.xml" for number in range(1, len(titles) + 1)]
    listed = "".join(
        f'<sheet name="{escape(title)}" sheetId="{number + 1}" r:id="r{number}"/>'
        for number, title in enumerate(titles)
    )
    parts = {
        "_rels/.rels": office.relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{office.OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": office.relations(
            *(("worksheet", name) for name in names), ("styles", "styles.xml")
        ),
        "xl/styles.xml": _STYLES,
        **{f"xl/{name}": _sheet(sheets[title]) for name, title in zip(names, titles, strict=True)},
    }
    kinds = {"xl/workbook.xml": f"{_KIND}.sheet.main+xml", "xl/styles.xml": f"{_KIND}.styles+xml"}
    return office.pack(parts, {**kinds, **{f"xl/{name}": f"{_KIND}.worksheet+xml" for name in names}})


def _tables_of_fields(documents: Sequence[Document]) -> dict[str, Rows]:
    """Return the table of all fields, and one for each field that is a list of several."""
    records: list[dict[str, Cell]] = []
    lists: dict[str, list[dict[str, Cell]]] = {}
    for labels, block in blocks_of_fields(documents):
        named = {name: _number(label) if name == PAGE else label for name, label in labels.items()}
        fields = block.fields if isinstance(block.fields, Mapping) else {"value": block.fields}
        records.append(dict(named))
        for name, value in fields.items():
            plain = value_of(value)
            if isinstance(plain, Mapping | list):
                inner = plain if isinstance(plain, list) else [plain]
                lists.setdefault(name, []).extend({**named, **_record(name, one)} for one in inner)
            else:
                records[-1][name] = _cell(plain)
    kept = [{name: cell for name, cell in record.items() if name not in lists} for record in records]
    tables = {"fields": kept} | lists if records else {}
    return {_title(name): _as_rows(table) for name, table in tables.items() if table}


def _record(name: str, value: Json) -> dict[str, Cell]:
    if not isinstance(value, Mapping):
        return {name: _cell(value)}
    return {key: _cell(value_of(one)) for key, one in value.items()}


def _cell(value: Json) -> Cell:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _as_rows(records: list[dict[str, Cell]]) -> Rows:
    names = list(dict.fromkeys(name for record in records for name in record))
    return [list[Cell](names), *([record.get(name) for name in names] for record in records)]


def _tables(documents: Sequence[Document]) -> Iterator[tuple[str, Rows]]:
    tables = [block for document in documents for block in expanded(document.blocks) if block.kind == "table"]
    for number, table in enumerate(tables, start=1):
        yield (
            f"table {number}",
            [[_number("" if cell.kind in MERGED else cell.text) for cell in row] for row in grid(table)],
        )


def _number(content: str) -> Cell:
    """Take a cell that is nothing but a number as one."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,14})", content):
        return int(content)
    return float(content) if re.fullmatch(r"-?(0|[1-9]\d{0,14})\.\d+", content) else content


def _title(name: str) -> str:
    return _NOT_IN_TITLES.sub(" ", name)[:_LONGEST_TITLE] or "fields"


def _sheet(rows: Rows) -> str:
    count = max(len(row) for row in rows)
    wide = [max(len(str(row[column])) for row in rows if column < len(row)) for column in range(count)]
    columns = "".join(
        f'<col min="{number}" max="{number}" width="{min(_WIDEST, max(_NARROWEST, width + 2))}" customWidth="1"/>'
        for number, width in enumerate(wide, start=1)
    )
    body = "".join(
        f"<row>{''.join(_write(cell, bold=not number) for cell in row)}</row>" for number, row in enumerate(rows)
    )
    return f'<worksheet xmlns="{_SHEET}">{_HEAD}<cols>{columns}</cols><sheetData>{body}</sheetData></worksheet>'


def _write(cell: Cell, *, bold: bool) -> str:
    if cell is None or cell == "":
        return "<c/>"
    if isinstance(cell, str):
        if _DAY.fullmatch(cell) and (days := _days(cell)) is not None:
            return f'<c s="{_DATE}"><v>{days}</v></c>'
        style = f' s="{_BOLD}"' * bold
        return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{office.text(cell)}</t></is></c>'
    if isinstance(cell, bool) or not math.isfinite(cell):
        return f'<c t="inlineStr"><is><t>{cell}</t></is></c>'
    return f"<c><v>{cell}</v></c>"


def _days(day: str) -> int | None:
    try:
        return (date.fromisoformat(day) - _BEGINNING).days
    except ValueError:
        return None
