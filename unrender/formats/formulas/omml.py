"""Office Math Markup: the equations of Word, from the same tree as MathML."""

from html import escape

from unrender.formats import formulas
from unrender.formats.formulas.meaning import read_formula
from unrender.latex.characters import ACCENTS, Font

NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_STYLES: dict[Font, str] = {
    "italic": "",
    "roman": '<m:sty m:val="p"/>',
    "bold": '<m:sty m:val="b"/>',
    "script": '<m:scr m:val="script"/><m:sty m:val="p"/>',
    "blackboard": '<m:scr m:val="double-struck"/><m:sty m:val="p"/>',
    "fraktur": '<m:scr m:val="fraktur"/><m:sty m:val="p"/>',
    "sans": '<m:scr m:val="sans-serif"/><m:sty m:val="p"/>',
    "typewriter": '<m:scr m:val="monospace"/><m:sty m:val="p"/>',
}
_SPACES = ((0.12, "\u200a"), (0.2, "\u2009"), (0.26, "\u205f"), (0.4, "\u2004"), (0.75, "\u2002"), (1.5, "\u2003"))
_NOTHING = "\u200b"  # an empty element would show a dotted box
_MOST_OPERATORS = 20  # one in the other; those that follow stand beside them
_SIDES = {"l": "left", "c": "center", "r": "right"}
_BARS = {"overline": "top", "bar": "top", "underline": "bot"}
_BRACES = {"overbrace": ("⏞", "top", "bot"), "underbrace": ("⏟", "bot", "top")}
_HIDDEN_FRAME = "".join(f'<m:hide{side} m:val="1"/>' for side in ("Top", "Bot", "Left", "Right"))


def formula_to_omml(text: str, *, display: bool = True) -> str:
    """Write a LaTeX formula as one equation, in a paragraph of its own if displayed."""
    equation = f"<m:oMath>{_items(read_formula(text).items)}</m:oMath>"
    return f"<m:oMathPara>{equation}</m:oMathPara>" if display else equation


def _items(items: tuple[formulas.Math, ...], operators: int = 0) -> str:
    """Write a row; a large operator takes in what follows it, up to the next relation."""
    parts: list[str] = []
    index = 0
    while index < len(items):
        item, index = items[index], index + 1
        base = formulas.core(item)
        end = index
        if isinstance(base, formulas.Sign) and base.role == "large" and operators < _MOST_OPERATORS:
            end = next((later for later in range(index, len(items)) if _is_end(items[later])), len(items))
        if isinstance(base, formulas.Sign) and end > index:
            scripts = item if isinstance(item, formulas.Scripted) else formulas.Scripted(base, None, None)
            parts.append(_operator(base, scripts, _items(items[index:end], operators + 1)))
            index = end
        else:
            parts.append(_write(item))
    return "".join(parts)


def _is_end(item: formulas.Math) -> bool:
    core = formulas.core(item)
    return isinstance(core, formulas.Sign) and core.role in {"relation", "punctuation", "close"}


def _operator(sign: formulas.Sign, scripts: formulas.Scripted, operand: str) -> str:
    place = "undOvr" if formulas.has_limits(sign) else "subSup"
    hidden = [f'<m:{name}Hide m:val="{int(script is None)}"/>' for name, script in _both(scripts)]
    properties = f'<m:naryPr><m:chr m:val="{sign.character}"/><m:limLoc m:val="{place}"/>{"".join(hidden)}</m:naryPr>'
    limits = "".join(
        f"<m:{name}>{_items(script.items) if script else ''}</m:{name}>" for name, script in _both(scripts)
    )
    return f"<m:nary>{properties}{limits}<m:e>{operand}</m:e></m:nary>"


def _both(scripts: formulas.Scripted) -> tuple[tuple[str, formulas.Row | None], tuple[str, formulas.Row | None]]:
    return ("sub", scripts.sub), ("sup", scripts.sup)


def _write(item: formulas.Math | None) -> str:
    match item:
        case None:
            return _run(_NOTHING, "roman")
        case formulas.Letter(text, font) | formulas.Number(text, font) | formulas.Word(text, font):
            return _run(f"{text}\u2009" if isinstance(item, formulas.Word) and item.function else text, font)
        case formulas.Sign(character):
            return _run(character, "roman") if character else ""
        case formulas.Space(em):
            return (
                _run(next((space for most, space in _SPACES if em < most), "\u2003\u2003"), "roman") if em > 0 else ""
            )
        case formulas.Row(items):
            return _items(items)
        case formulas.Fraction(numerator, denominator, ruled):
            kind = "" if ruled else '<m:fPr><m:type m:val="noBar"/></m:fPr>'
            return f"<m:f>{kind}{_element('num', numerator)}{_element('den', denominator)}</m:f>"
        case formulas.Root(radicand, degree):
            hidden = '<m:radPr><m:degHide m:val="1"/></m:radPr>' if degree is None else ""
            index = "<m:deg/>" if degree is None else _element("deg", degree)
            return f"<m:rad>{hidden}{index}{_element('e', radicand)}</m:rad>"
        case formulas.Scripted():
            return _scripted(item)
        case _:
            return _layout(item)


def _layout(item: formulas.Layout) -> str:
    match item:
        case formulas.Accented(accent, body):
            return _accented(accent, _element("e", body))
        case formulas.Stacked(base, above, below):
            return _limits(_items(base.items), below, above)
        case formulas.Fenced(left, body, right):
            ends = f'<m:begChr m:val="{escape(left)}"/><m:endChr m:val="{escape(right)}"/>'
            return f"<m:d><m:dPr>{ends}</m:dPr>{_element('e', body)}</m:d>"
        case formulas.Matrix():
            return _matrix(item)
        case formulas.Hidden(body):
            return f'<m:phant><m:phantPr><m:show m:val="0"/></m:phantPr>{_element("e", body)}</m:phant>'
        case formulas.Boxed(body):
            return f"<m:borderBox>{_element('e', body)}</m:borderBox>"


def _accented(accent: str, body: str) -> str:
    if accent == "cancel":
        strike = f'{_HIDDEN_FRAME}<m:strikeBLTR m:val="1"/>'
        return f"<m:borderBox><m:borderBoxPr>{strike}</m:borderBoxPr>{body}</m:borderBox>"
    if accent in _BARS:
        return f'<m:bar><m:barPr><m:pos m:val="{_BARS[accent]}"/></m:barPr>{body}</m:bar>'
    if accent in _BRACES:
        character, place, side = _BRACES[accent]
        kind = f'<m:chr m:val="{character}"/><m:pos m:val="{place}"/><m:vertJc m:val="{side}"/>'
        return f"<m:groupChr><m:groupChrPr>{kind}</m:groupChrPr>{body}</m:groupChr>"
    return f'<m:acc><m:accPr><m:chr m:val="{ACCENTS[accent]}"/></m:accPr>{body}</m:acc>'


def _scripted(item: formulas.Scripted) -> str:
    base = item.base
    written = _run(base.text, base.font) if isinstance(base, formulas.Word) else _write(base)
    if formulas.has_limits(base):
        return _limits(written, item.sub, item.sup)
    name = {(True, True): "sSubSup", (True, False): "sSub", (False, True): "sSup"}[
        item.sub is not None, item.sup is not None
    ]
    scripts = "".join(_element(kind, script) for kind, script in _both(item) if script is not None)
    return f"<m:{name}><m:e>{written}</m:e>{scripts}</m:{name}>"


def _limits(base: str, below: formulas.Row | None, above: formulas.Row | None) -> str:
    for name, script in (("limLow", below), ("limUpp", above)):
        if script is not None:
            base = f"<m:{name}><m:e>{base}</m:e>{_element('lim', script)}</m:{name}>"
    return base


def _matrix(matrix: formulas.Matrix) -> str:
    width = max((len(row) for row in matrix.rows), default=0)
    sides = [_SIDES[side] for side in matrix.columns[:width].ljust(width, "c")]
    columns = "".join(f'<m:mc><m:mcPr><m:count m:val="1"/><m:mcJc m:val="{side}"/></m:mcPr></m:mc>' for side in sides)
    rows = "".join(f"<m:mr>{''.join(_cell(row, column) for column in range(width))}</m:mr>" for row in matrix.rows)
    return f'<m:m><m:mPr><m:plcHide m:val="1"/><m:mcs>{columns}</m:mcs></m:mPr>{rows}</m:m>'


def _cell(row: tuple[formulas.Row, ...], column: int) -> str:
    return _element("e", row[column]) if column < len(row) else "<m:e/>"


def _element(name: str, row: formulas.Row) -> str:
    return f"<m:{name}>{_items(row.items) or _run(_NOTHING, 'roman')}</m:{name}>"


def _run(text: str, font: Font) -> str:
    style = f"<m:rPr>{_STYLES[font]}</m:rPr>" if _STYLES[font] else ""
    face = '<w:rPr><w:rFonts w:ascii="Cambria Math" w:hAnsi="Cambria Math"/></w:rPr>'
    return f'<m:r>{style}{face}<m:t xml:space="preserve">{escape(text, quote=False)}</m:t></m:r>'
