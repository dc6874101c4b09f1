"""The web page, in a real browser: every way in, every way out, with mouse, keys, on a phone, and when things go wrong.

Screenshots of what it looks like are left in tests/output for a person to see.
"""

import base64
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright
from serving import QUADRATIC, bar, counting_reader, running, saying_reader

from unrender.checkpoints import embedded_names
from unrender.latex import normalise, readable
from unrender.server import Limits, Shelf, create_app

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "quadratic.png"
OUTPUT = Path(__file__).parent / "output"
CHROMIUM = Path("/usr/bin/chromium")
TEXT = " ".join(said.text for said in QUADRATIC)
DOUBTFUL = 9  # the second b, which might be a 6
WAIT = 15_000  # milliseconds

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]  # of playwright's own pipes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        reason = "The page is not tested: there is no chromium; on Debian, `apt-get install chromium`."
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    arguments = ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def corrections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "corrections"


@pytest.fixture(scope="module")
def address(corrections: Path) -> Iterator[str]:
    with running(create_app(Shelf(saying_reader(step_seconds=0.005)), corrections=corrections)) as address:
        yield address


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page in a fresh browser profile; afterwards, nothing may have been asked of anybody else."""
    contexts, strangers, complaints = [], list[str](), list[str]()

    def open_page(address: str, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(WAIT)
        page = context.new_page()
        page.on(
            "request",
            lambda request: request.url.startswith((address, "data:", "blob:")) or strangers.append(request.url),
        )
        page.on("console", lambda message: "Security Policy" in message.text and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert (strangers, complaints) == ([], [])


@pytest.fixture
def page(visit: Callable[..., Page], address: str) -> Page:
    """The page as it opens, its example read."""
    page = visit(address)
    expect(page.locator("#wrote")).to_have_text(readable(TEXT), timeout=WAIT)
    return page


@pytest.fixture
def result(page: Page) -> Page:
    """The page with a formula read."""
    page.locator("#file").set_input_files(EXAMPLE)
    finished(page)
    return page


def finished(page: Page) -> None:
    expect(page.locator("#rendered math")).to_be_visible(timeout=WAIT)
    expect(page.locator("#status")).to_contain_text("Read in", timeout=WAIT)


def token(page: Page, index: int) -> Locator:
    return page.locator(".token").nth(index)


def source(page: Page) -> str:
    """The LaTeX that is shown."""
    return page.locator(".tokens").inner_text()


def shoot(page: Page, name: str, *, whole: bool = True) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"page-{name}.png", full_page=whole)


def send_event(page: Page, kind: str, name: str, content: bytes) -> None:
    """Drop or paste a file, as the system would."""
    page.evaluate(
        """([kind, name, data]) => {
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
            const carried = new DataTransfer();
            carried.items.add(new File([bytes], name, { type: "image/png" }));
            const shared = { bubbles: true, cancelable: true };
            const event = kind === "paste"
                ? new ClipboardEvent("paste", { ...shared, clipboardData: carried })
                : new DragEvent("drop", { ...shared, dataTransfer: carried });
            document.body.dispatchEvent(event);
        }""",
        [kind, name, base64.b64encode(content).decode()],
    )


def answer_with(page: Page, document: dict[str, object]) -> None:
    """Let every reading give this document."""

    def answer(route: Route) -> None:
        route.fulfill(body=f"event: document\ndata: {json.dumps(document)}\n\n", content_type="text/event-stream")

    page.route("**/v1/read*", answer)


def copied(page: Page) -> str:
    """Copy, and return what the clipboard holds."""
    page.click("#copy")
    expect(page.locator("#status")).to_contain_text("Copied", timeout=WAIT)
    return page.evaluate("navigator.clipboard.readText()")


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag on the picture, from one of its pixels to another."""
    seen = page.locator("#figure img")
    area = seen.bounding_box()
    assert area is not None
    scale = area["width"] / seen.evaluate("image => image.naturalWidth")
    page.mouse.move(area["x"] + start[0] * scale, area["y"] + start[1] * scale)
    page.mouse.down()
    page.mouse.move(area["x"] + end[0] * scale, area["y"] + end[1] * scale, steps=4)
    page.mouse.up()


# The text grows for a moment only: a busy machine may look too late, an observer does not.
REMEMBER_GROWING = """() => {
  window.grown = "";
  const look = () => { window.grown += document.querySelector(".growing")?.textContent ?? ""; };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def until(page: Page, condition: str) -> None:
    """Wait for a condition; playwright's own way is forbidden by the page's policy."""
    for _ in range(WAIT // 50):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"it never happened: {condition}")


def draw_cross(page: Page) -> None:
    sheet = page.locator("canvas").bounding_box()
    assert sheet is not None
    for start, end in (((60, 40), (160, 140)), ((160, 40), (60, 140))):
        page.mouse.move(sheet["x"] + start[0], sheet["y"] + start[1])
        page.mouse.down()
        page.mouse.move(sheet["x"] + end[0], sheet["y"] + end[1], steps=4)
        page.mouse.up()


def test_a_chosen_file_is_read_while_one_watches(page):
    shoot(page, "empty")
    page.evaluate(REMEMBER_GROWING)
    page.locator("#file").set_input_files(EXAMPLE)
    until(page, "() => window.grown.includes('x')")
    finished(page)
    shoot(page, "result")
    assert source(page) == readable(TEXT)
    assert page.locator("#rendered mfrac msqrt").count() == 1
    assert page.locator("#rendered mfrac").evaluate("node => node.getBoundingClientRect().height") > 30
    seen, drawn = page.locator("#figure img").bounding_box(), page.locator("#rendered").bounding_box()
    assert seen is not None
    assert drawn is not None
    assert seen["x"] + seen["width"] <= drawn["x"], "they stand side by side"
    expect(page.locator("#sure")).to_contain_text("1 doubtful symbol")


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_a_picture_can_be_dropped_and_pasted(page, kind):
    send_event(page, kind, "formula.png", EXAMPLE.read_bytes())
    finished(page)
    assert source(page) == readable(TEXT)


def test_a_formula_can_be_drawn(page):
    page.click("#draw")
    draw_cross(page)
    finished(page)
    page.get_by_role("tab", name="JSON").click()
    expect(page.locator("#source")).to_contain_text("drawing.inkml", timeout=WAIT)  # the strokes, not a picture of them
    shoot(page, "drawing")
    page.locator("canvas").focus()
    page.keyboard.press("Control+z")
    page.click("#undo")
    expect(page.locator("#rendered math")).to_have_count(0, timeout=WAIT)


def test_a_picture_can_be_taken_with_the_camera(page):
    page.click("#photograph")
    expect(page.locator("#camera")).to_be_visible(timeout=WAIT)
    until(page, "document.getElementById('video').videoWidth > 0")
    page.click("#shoot")
    finished(page)
    expect(page.locator("#camera")).to_be_hidden()


def test_pointing_at_a_token_lights_its_place_and_back(result):
    token(result, DOUBTFUL).hover()
    lamp, picture = result.locator(".lamp").bounding_box(), result.locator("#figure img").bounding_box()
    assert lamp is not None
    assert picture is not None
    scale = picture["width"] / 265
    middle = (lamp["x"] + lamp["width"] / 2 - picture["x"]) / scale
    assert 150 < middle < 172, "the second b stands at 155 to 164"
    result.mouse.move(picture["x"] + 97 * scale, picture["y"] + 38 * scale)
    expect(result.locator(".token.lit")).to_have_text("b")
    assert result.locator(".token").evaluate_all("all => all.findIndex((one) => one.classList.contains('lit'))") == 5


def test_only_tokens_in_real_doubt_are_tinted(result):
    tint = "node => getComputedStyle(node).backgroundColor"
    sure, rather_sure, doubtful = (token(result, index).evaluate(tint) for index in (1, 5, DOUBTFUL))
    assert sure == rather_sure == "rgba(0, 0, 0, 0)"
    assert doubtful != sure


def test_choosing_an_alternative_renders_it_and_can_be_taken_back(result):
    token(result, DOUBTFUL).click()
    items = result.locator(".menu [role=menuitemradio]")
    assert [text.split()[0] for text in items.all_inner_texts()] == ["b", "6", "h", "\\delta"]
    shoot(result, "alternatives")
    items.nth(1).click()
    expect(result.locator("#rendered msqrt mn").first).to_have_text("6", timeout=WAIT)
    assert source(result) == readable(TEXT).replace("{b^", "{6^")
    result.click("#reset")
    expect(result.locator("#rendered msqrt msup mi")).to_have_text("b", timeout=WAIT)
    assert source(result) == readable(TEXT)


def test_the_source_can_be_edited_with_live_preview(result):
    result.click("#edit")
    area = result.locator("#source textarea")
    area.fill(TEXT.replace("4", "7"))
    expect(result.locator("#rendered")).to_contain_text("7", timeout=WAIT)
    area.fill("\\frac { 1")
    expect(result.locator("#wrong")).to_contain_text("not well-formed", timeout=WAIT)
    expect(result.locator("#rendered")).to_have_class(re.compile("stale"))
    area.fill("y + x ^ { 2 }")
    expect(result.locator("#rendered msup")).to_have_count(1, timeout=WAIT)
    result.click("#edit")
    assert source(result) == "y + x ^ { 2 }"


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("latex", readable(TEXT)),
        ("mathml", "<math"),
        ("markdown", "$$"),
        ("typst", "sqrt("),
        ("json", '"probability": 0.55'),
    ],
)
def test_the_result_is_copied_in_every_notation(result, notation, expected):
    result.context.grant_permissions(["clipboard-read", "clipboard-write"])
    result.click(f"#tab-{notation}")
    result.click("#copy")
    expect(result.locator("#status")).to_contain_text("Copied", timeout=WAIT)
    assert expected in result.evaluate("navigator.clipboard.readText()")


def test_a_copy_holds_the_corrections(result):
    result.context.grant_permissions(["clipboard-read", "clipboard-write"])
    token(result, DOUBTFUL).click()
    result.locator(".menu button").nth(1).click()
    result.click("#tab-json")
    result.click("#copy")
    expect(result.locator("#status")).to_contain_text("Copied", timeout=WAIT)
    document = json.loads(result.evaluate("navigator.clipboard.readText()"))
    corrected = TEXT.replace("{ b ^", "{ 6 ^")
    assert document["text"] == document["pages"][0]["blocks"][0]["text"] == readable(corrected)
    assert document["pages"][0]["blocks"][0]["written"] == corrected


def test_the_result_is_downloaded_under_its_name(result):
    result.click("#tab-mathml")
    with result.expect_download() as download:
        result.click("#download")
    assert download.value.suggested_filename == "quadratic.mml"
    assert download.value.path().read_text().startswith("<math")


def test_pages_of_a_pdf_are_chosen(page, make_pdf):
    page.locator("#file").set_input_files({"name": "three.pdf", "mimeType": "application/pdf", "buffer": make_pdf(3)})
    finished(page)
    expect(page.locator("#pages")).to_have_text("3")
    with page.expect_request(lambda request: "pages=2" in request.url):
        page.click("#next")
    finished(page)
    expect(page.locator("#page")).to_have_value("2")
    shoot(page, "pdf")
    with page.expect_request(lambda request: "pages=3" in request.url):
        page.fill("#page", "3")
        page.press("#page", "Enter")
    expect(page.locator("#next")).to_be_disabled(timeout=WAIT)


def test_all_pages_of_a_pdf_are_read_and_taken_away_together(page, make_pdf):
    page.locator("#file").set_input_files({"name": "three.pdf", "mimeType": "application/pdf", "buffer": make_pdf(3)})
    finished(page)
    expect(page.locator("#strip")).to_be_hidden()
    page.click("#every")
    expect(page.locator("#read")).to_have_text("3 pages read", timeout=WAIT)
    expect(page.locator("#page")).to_have_value("3")
    with page.expect_download() as download:
        page.click("#zip")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.namelist() == [*(f"three-page-{n}.tex" for n in (1, 2, 3)), "all.md"]


def test_a_part_of_a_pdf_is_drawn_again_by_the_server(page, make_pdf):
    page.locator("#file").set_input_files({"name": "two.pdf", "mimeType": "application/pdf", "buffer": make_pdf(2)})
    finished(page)
    with page.expect_request(lambda request: "crop=" in request.url) as asked:
        drag(page, (11, 55), (55, 99))  # of 110 pixels, the inch of the preview
    finished(page)
    shoot(page, "pdf-crop")
    query = parse_qs(urlsplit(asked.value.url).query)
    assert query["pages"] == ["1"]
    assert [float(share) for share in query["crop"][0].split(",")] == pytest.approx([0.1, 0.5, 0.5, 0.9], abs=0.03)


def test_a_format_that_the_browser_cannot_show_is_drawn_by_the_server(page):
    buffer = io.BytesIO()
    with Image.open(EXAMPLE) as image:
        image.convert("RGB").save(buffer, "JPEG2000")
    page.locator("#file").set_input_files({"name": "scan.jp2", "mimeType": "image/jp2", "buffer": buffer.getvalue()})
    finished(page)
    assert page.locator("#figure img").evaluate("image => image.naturalWidth") == 265


def test_earlier_reads_are_kept_in_this_browser(result, address):
    with result.expect_response(lambda answer: "/v1/read" in answer.url):  # of the example on the first screen
        result.reload()
    card = result.locator("#earlier button")
    expect(card).to_have_count(1)
    reads = []
    result.on("request", lambda request: "/v1/read" in request.url and reads.append(request.url))
    card.click()
    expect(result.locator("#rendered msqrt")).to_be_visible(timeout=WAIT)
    assert (source(result), reads) == (readable(TEXT), [])
    result.click("#forget")
    expect(result.locator("#history")).to_be_hidden()
    assert result.evaluate("localStorage.length") == 0


RECEIPT = {
    "source": "receipt.png", "model": "receipt", "task": "receipt", "status": {"kind": "complete"}, "text": "",
    "confidence": 0.81,
    "pages": [{
        "number": 1, "width": 265, "height": 103, "text": "", "status": {"kind": "complete"},
        "blocks": [{
            "kind": "fields",
            "text": "company: CORNER SHOP\ntotal: 12.50",
            "fields": {
                "company": {"text": "CORNER SHOP", "confidence": 0.98, "box": [20, 20, 120, 40]},
                "date": None,
                "total": {"text": "12.50", "confidence": 0.61, "box": [150, 60, 170, 80]},
            },
            "children": [
                {"kind": "company", "text": "CORNER SHOP", "confidence": 0.98,
                 "tokens": [{"text": "CORNER", "probability": 0.98}, {"text": "SHOP", "probability": 0.98}],
                 "box": {"x0": 20, "y0": 20, "x1": 120, "y1": 40}},
                {"kind": "total", "text": "12.50", "confidence": 0.61,
                 "box": {"x0": 150, "y0": 60, "x1": 170, "y1": 80}},
            ],
        }],
    }],
}  # fmt: skip


@pytest.mark.parametrize("placed", [True, False])
def test_a_receipt_is_a_form_beside_the_picture(page, placed):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    document = json.loads(json.dumps(RECEIPT))
    block = document["pages"][0]["blocks"][0]
    if not placed:  # as models tell it that write Donut's tags
        block["fields"] = {"menu": [{"nm": "TEA", "price": "2.50"}], "total": "12.50"}
        del block["children"]
    answer_with(page, document)
    page.locator("#file").set_input_files(EXAMPLE)
    rows = page.locator(".fields .row")
    expect(rows).to_have_count(3, timeout=WAIT)
    assert page.locator("#figure .fields").count() == 0, "nothing covers the picture"
    assert page.locator(".layer .boxed, .layer .doubt").count() == (2 if placed else 0)
    total = rows.last.locator("input")
    expect(total).to_have_value("12.50")
    total.hover()
    expect(page.locator(".lamp")).to_be_visible(visible=placed)
    if placed:
        drag(page, (30, 30), (31, 30))  # a click
        expect(rows.first.locator("input")).to_be_focused()
        expect(rows.first).to_have_class(re.compile("lit"))
    expect(page.locator("#tab-json")).to_have_attribute("aria-selected", "true")
    assert json.loads(page.locator("#source pre").inner_text()) == block["fields"]
    total.fill("13.00")
    expect(page.locator("#sure")).to_have_text("Edited")
    shoot(page, f"receipt-{'placed' if placed else 'plain'}")
    expected = json.loads(json.dumps(block["fields"]))
    expected["total"] = {"text": "13.00", "box": [150, 60, 170, 80]} if placed else "13.00"
    assert json.loads(copied(page)) == expected
    page.click("#tab-csv")
    expect(page.locator("#source pre")).to_contain_text("13.00")
    names = "company,date,total\nCORNER SHOP,,13.00" if placed else "menu.nm,menu.price,total\nTEA,2.50,13.00"
    assert copied(page) == names
    page.click("#reset")
    expect(total).to_have_value("12.50")


def test_boxes_and_crops_of_a_tall_picture_are_where_they_are_seen(page):
    content = io.BytesIO()
    Image.new("RGB", (500, 900), "white").save(content, "PNG")
    document = json.loads(json.dumps(RECEIPT))
    document["pages"][0].update(width=500, height=900)
    answer_with(page, document)
    page.locator("#file").set_input_files({"name": "tall.png", "mimeType": "image/png", "buffer": content.getvalue()})
    expect(page.locator(".layer .boxed, .layer .doubt").first).to_be_visible(timeout=WAIT)
    paper, layer = page.locator("#figure img").bounding_box(), page.locator(".layer").bounding_box()
    assert paper["width"] / paper["height"] == pytest.approx(500 / 900, rel=0.01), "no empty margin beside it"
    assert layer == pytest.approx(paper, abs=1)
    assert paper["height"] < 800, "all of it is in sight"


def test_corrected_fields_are_still_there_among_earlier_reads(page):
    answer_with(page, RECEIPT)
    page.locator("#file").set_input_files(EXAMPLE)
    page.locator(".row input").last.fill("13.00")
    page.reload()
    page.locator("#earlier button").click()
    expect(page.locator(".row input").last).to_have_value("13.00", timeout=WAIT)


PAGE = {
    "source": "page.png", "model": "page", "task": "page", "status": {"kind": "complete"}, "confidence": 0.9,
    "text": "Apples\n\nThey fall.\n\nv = gt",
    "pages": [{
        "number": 1, "width": 265, "height": 103, "text": "Apples\n\nThey fall.\n\nv = gt",
        "status": {"kind": "unlikely", "reason": "this does not look like a page; what was read is a guess."},
        "blocks": [
            {"kind": "heading", "text": "Apples", "level": 1, "box": {"x0": 10, "y0": 5, "x1": 250, "y1": 25}},
            {"kind": "text", "text": "They fall.", "box": {"x0": 10, "y0": 30, "x1": 250, "y1": 60}},
            {"kind": "formula", "text": "v = gt", "box": {"x0": 60, "y0": 70, "x1": 200, "y1": 95}},
        ],
    }],
}  # fmt: skip


def test_a_page_stands_beside_its_picture_block_by_block(page):
    answer_with(page, PAGE)
    page.locator("#file").set_input_files(EXAMPLE)
    blocks = page.locator("#rendered .block")
    expect(blocks).to_have_count(3, timeout=WAIT)
    assert page.locator("#rendered h1").inner_text() == "Apples"
    expect(page.locator("#rendered math")).to_be_visible()
    expect(page.locator("#ended")).to_have_text("This does not look like a page; what was read is a guess.")
    blocks.nth(1).hover()
    expect(page.locator(".lamp")).to_be_visible()
    drag(page, (100, 80), (101, 80))
    expect(blocks.nth(2)).to_have_class(re.compile("lit"))
    expect(page.locator("#source pre")).to_contain_text("# Apples", timeout=WAIT)
    shoot(page, "blocks")


def test_ten_files_are_read_in_order_and_taken_away_together(visit):
    files = [{"name": f"bar {n}.png", "mimeType": "image/png", "buffer": bar(n)} for n in range(1, 10)]
    files.append({"name": "bar 1.png", "mimeType": "image/png", "buffer": b"no picture"})
    with running(create_app(Shelf(counting_reader()))) as address:
        page = visit(address)
        page.locator("#file").set_input_files(files)
        cards = page.locator("#pictures button")
        expect(cards).to_have_count(10)
        expect(page.locator("#read")).to_have_text("9 of 10 read, 1 failed", timeout=2 * WAIT)
        assert page.locator("#earlier code").all_inner_texts() == [f"n{n}" for n in range(9, 0, -1)]
        cards.nth(6).click()
        expect(page.locator(".token")).to_have_text("n7")
        shoot(page, "strip")
        with page.expect_download() as download:
            page.click("#zip")
        with zipfile.ZipFile(download.value.path()) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == [*(f"bar {n}.tex" for n in range(1, 10)), "all.md"]
            assert archive.read("bar 4.tex") == b"n4\n"
            everything = archive.read("all.md").decode()
        assert everything.startswith("<!-- bar 1 -->\n\n$$\nn1\n$$\n")
        with page.expect_download() as download:
            page.click("#markdown")
        assert download.value.path().read_text() == everything
        cards.nth(9).click()
        expect(page.locator("#problem")).to_contain_text("neither a PDF nor an image")
        page.close()


def test_a_part_of_the_picture_is_read_by_itself(result):
    asked = []
    result.on("request", lambda request: "/v1/" in request.url and asked.append(request.url.split("?")[0][-4:]))
    drag(result, (70, 20), (245, 82))
    expect(result.locator("#earlier button")).to_have_count(2, timeout=WAIT)
    finished(result)
    assert result.locator("#earlier img").first.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [
        175,
        62,
    ]
    expect(result.locator(".crop")).to_be_visible()
    token(result, 0).hover()
    shoot(result, "crop")
    drag(result, (70, 20), (170, 82))  # again, on the same picture
    expect(result.locator("#earlier button")).to_have_count(3, timeout=WAIT)
    reads = asked.count("read")
    result.keyboard.press("Escape")
    expect(result.locator(".crop")).to_be_hidden()
    expect(result.locator("#rendered math")).to_be_visible()
    assert (reads, asked.count("read"), asked.count("view")) == (2, 2, 0)


def test_the_picture_can_be_zoomed_and_moved(result):
    image = result.locator("#figure img")
    before = image.bounding_box()
    image.hover()
    result.keyboard.down("Control")
    result.mouse.wheel(0, -120)
    result.keyboard.up("Control")
    result.click("#closer")
    closer = image.bounding_box()
    assert closer["width"] == pytest.approx(before["width"] * 1.5**2, rel=0.02)
    result.click("#crop")  # off: a drag moves
    image.hover()
    result.mouse.down()
    result.mouse.move(500, 200, steps=3)
    result.mouse.up()
    moved = image.bounding_box()
    assert (moved["x"], moved["y"]) != (closer["x"], closer["y"])
    shoot(result, "zoom")
    result.click("#whole")
    assert image.bounding_box() == before
    expect(result.locator("#whole")).to_be_hidden()


def test_the_copy_menu_remembers_the_choice_and_a_key_copies(result):
    result.context.grant_permissions(["clipboard-read", "clipboard-write"])
    result.click("#copy-as")
    names = result.locator(".menu button").evaluate_all("all => all.map((one) => one.dataset.name)")
    assert names == ["latex", "inline", "display", "mathml", "typst", "sympy", "text", "markdown", "json", "picture"]
    shoot(result, "copy")
    result.click(".menu [data-name=inline]")
    expect(result.locator("#status")).to_have_text("Copied as $...$.", timeout=WAIT)
    tidy = readable(TEXT)
    assert result.evaluate("navigator.clipboard.readText()") == f"${tidy}$"
    expect(result.locator("#status")).to_contain_text("Read in", timeout=6000)  # "Copied" went away
    result.evaluate("navigator.clipboard.writeText('')")
    result.reload()
    result.locator("#earlier button").click()
    expect(result.locator("#copy")).to_have_text("Copy $...$")
    result.keyboard.press("c")
    until(result, f"navigator.clipboard.readText().then((text) => text === {json.dumps(f'${tidy}$')})")
    result.click("#edit")
    result.locator("#source textarea").press("c")
    result.click("#copy-as")
    result.click(".menu [data-name=picture]")
    kinds = "navigator.clipboard.read().then(([item]) => item.types.includes('image/png'))"
    until(result, kinds)


def test_cancel_stops_a_reading(visit):
    with running(create_app(Shelf(saying_reader(step_seconds=0.15)), Limits(workers=1))) as address:
        page = visit(address)
        expect(page.locator("#wrote")).not_to_be_empty(timeout=2 * WAIT)
        page.locator("#file").set_input_files(EXAMPLE)
        expect(page.locator(".growing")).to_contain_text("x", timeout=WAIT)
        page.click("#cancel")
        expect(page.locator("#status")).to_have_text("Stopped.")
        expect(page.locator("#cancel")).to_be_hidden()
        until(page, "fetch('/metrics').then((a) => a.text()).then((text) => /abandoned_pages_total 1/.test(text))")
        page.close()


def test_the_editor_shows_what_people_write_and_confidence_follows(result):
    expect(result.locator("#sure")).to_contain_text("Confidence")
    result.click("#edit")
    area = result.locator("#source textarea")
    expect(area).to_have_value(readable(TEXT))
    area.fill(readable(TEXT).replace("4ac", "4 a d"))
    expect(result.locator("#sure")).to_contain_text("Edited")
    assert "Confidence" not in result.locator("#sure").inner_text()
    result.click("#edit")
    assert source(result) == readable(TEXT).replace("4ac", "4 a d")
    result.click("#reset")
    expect(result.locator("#sure")).to_contain_text("Confidence")


def test_functions_are_spaced_as_people_space_them(page):
    tokens = "2 \\operatorname { c o s } x + \\sin ( - x )".split()
    block = {"kind": "formula", "text": "2\\cos x + \\sin(-x)", "written": " ".join(tokens)}
    block["tokens"] = [{"text": text, "probability": 1} for text in tokens]
    document = json.loads(json.dumps(RECEIPT))
    document["pages"][0]["blocks"] = [block]
    answer_with(page, document)
    page.locator("#file").set_input_files(EXAMPLE)
    expect(page.locator(".tokens")).to_have_text("2\\cos x + \\sin(-x)", timeout=WAIT)
    expect(page.locator("#rendered math")).to_be_visible(timeout=WAIT)
    assert page.locator(".token").all_inner_texts() == ["2", "\\cos", "x", "+", "\\sin", "(", "-", "x", ")"]
    left = page.locator("#rendered mi", has_text="cos").bounding_box()
    right = page.locator("#rendered mi", has_text="x").first.bounding_box()
    assert right["x"] - left["x"] - left["width"] > 3


def test_the_source_is_what_people_write_and_each_piece_knows_its_tokens(page):
    tokens = "s \\left( \\begin{array} { c } { \\operatorname { s i n } s } \\\\ \\end{array} \\right) ^ { s }".split()
    block = {"kind": "formula", "text": "s\\begin{pmatrix} \\sin s \\end{pmatrix}^s", "written": " ".join(tokens)}
    block["tokens"] = [
        {"text": text, "probability": 0.9, "alternatives": [{"text": "\\xi", "probability": 0.05}]} for text in tokens
    ]
    block["tokens"][9]["probability"] = 0.3  # a letter of the function's name
    document = json.loads(json.dumps(RECEIPT))
    document["pages"][0]["blocks"] = [block]
    answer_with(page, document)
    page.locator("#file").set_input_files(EXAMPLE)
    expect(page.locator(".token")).to_have_count(7, timeout=WAIT)
    assert page.locator(".token.unsure").all_inner_texts() == ["\\sin"]
    token(page, 2).click()
    expect(page.locator(".menu")).to_have_count(0)  # several tokens: there is no one other thing it might be
    token(page, 0).click()
    page.locator(".menu button").nth(1).click()
    assert source(page) == "\\xi\\begin{pmatrix} \\sin s \\end{pmatrix}^s"
    token(page, 3).click()
    page.locator(".menu button").nth(1).click()
    expect(page.locator("#rendered")).to_contain_text("ξ", timeout=WAIT)
    assert source(page) == "\\xi\\begin{pmatrix} \\sin \\xi \\end{pmatrix}^s"


def test_the_first_screen_shows_what_it_can_do(page):
    expect(page.locator("#drawn mfrac")).to_be_visible()
    expect(page.locator("#welcome [data-file='handwritten.svg']")).to_be_visible()
    expect(page.locator("#welcome [data-file='receipt.svg']")).to_be_hidden()  # this server has no model for it
    shoot(page, "welcome")
    page.click("#welcome [data-file='handwritten.svg']")
    finished(page)
    expect(page.locator("#welcome")).to_be_hidden()
    shoot(page, "handwritten")


def test_strokes_are_rubbed_out_and_the_old_reading_stays_until_the_new_one(page):
    page.click("#draw")
    draw_cross(page)
    finished(page)
    page.evaluate("""() => {
        window.gone = 0;
        const find = (selector) => document.querySelector(selector);
        const watch = () => (window.gone += find("#rendered math") && !find(".growing") ? 0 : 1);
        new MutationObserver(watch).observe(document.getElementById("result"), { childList: true, subtree: true });
    }""")
    page.click("[data-tool=thick]")
    sheet = page.locator("canvas").bounding_box()
    pixels = "document.querySelector('canvas').getContext('2d').getImageData(0, 0, 900, 420).data"
    ink = f"{pixels}.filter((value) => value < 100).length"
    with page.expect_response(lambda response: "/v1/read" in response.url):
        page.mouse.move(sheet["x"] + 220, sheet["y"] + 60)
        page.mouse.down()
        page.mouse.move(sheet["x"] + 220, sheet["y"] + 140, steps=4)
        page.mouse.up()
    finished(page)
    assert page.evaluate("window.gone") == 0
    drawn = page.evaluate(ink)
    page.click("[data-tool=eraser]")
    page.mouse.move(sheet["x"] + 200, sheet["y"] + 100)
    page.mouse.down()
    page.mouse.move(sheet["x"] + 240, sheet["y"] + 100, steps=4)
    page.mouse.up()
    rubbed = page.evaluate(ink)
    assert rubbed < drawn
    shoot(page, "eraser")
    page.click("#undo")
    assert page.evaluate(ink) == drawn


def test_corrections_are_kept_only_when_that_is_switched_on(result, corrections):
    sent = []
    result.on("request", lambda request: "/v1/corrections" in request.url and sent.append(request.method))
    token(result, DOUBTFUL).click()
    result.locator(".menu button").nth(1).click()
    expect(result.locator("#sure")).to_contain_text("Edited")
    result.click("#reset")
    result.click("#learning summary")
    expect(result.locator("#kept")).to_have_text("None are kept.")
    assert not result.locator("#keep").is_checked()
    assert (sent, corrections.exists()) == (["GET"], False)
    result.check("#keep")
    token(result, DOUBTFUL).click()
    result.locator(".menu button").nth(1).click()
    expect(result.locator("#kept")).to_contain_text("1 kept in", timeout=WAIT)
    shoot(result, "corrections")
    name, text = (corrections / "formula" / "labels.tsv").read_text().rstrip("\n").split("\t")
    assert text == TEXT.replace("{ b ^", "{ 6 ^")
    with Image.open(corrections / "formula" / name) as kept, Image.open(EXAMPLE) as read:
        assert kept.size == read.size
    with result.expect_download() as download:
        result.click("#export")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.namelist() == [f"formula/{name}", "formula/labels.tsv"]
    result.click("#erase")
    expect(result.locator("#kept")).to_have_text("None are kept.")
    assert not corrections.exists()


def test_a_file_that_is_no_picture_is_a_sentence(page):
    page.click("#example")
    finished(page)
    page.locator("#file").set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"})
    expect(page.locator("#problem")).to_contain_text("neither a PDF nor an image", timeout=WAIT)
    expect(page.locator("#work")).to_be_hidden()
    shoot(page, "problem")
    page.locator("#file").set_input_files(EXAMPLE)
    finished(page)
    expect(page.locator("#problem")).to_be_hidden()


def test_a_server_that_is_gone_is_a_sentence(page):
    page.route("**/v1/**", lambda route: route.abort())
    page.locator("#file").set_input_files(EXAMPLE)
    expect(page.locator("#problem")).to_contain_text("does not answer", timeout=WAIT)


def test_a_busy_server_is_asked_again(page):
    answers = iter([503])

    def answer(route: Route) -> None:
        status = next(answers, None)
        if status is None:
            route.continue_()
        else:
            body = json.dumps({"status": status, "error": "busy"})
            route.fulfill(status=status, body=body, headers={"Retry-After": "1", "Content-Type": "application/json"})

    page.route("**/v1/read*", answer)
    page.locator("#file").set_input_files(EXAMPLE)
    expect(page.locator("#status")).to_contain_text("trying again in 1 s", timeout=WAIT)
    finished(page)


def test_a_blank_picture_says_so(page):
    page.click("#draw")
    page.locator("#file").set_input_files(
        {"name": "blank.png", "mimeType": "image/png", "buffer": blank_png()},
    )
    expect(page.locator("#ended")).to_contain_text("nothing to read", timeout=WAIT)


def blank_png() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (60, 30), 255).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_token_is_asked_for_once(visit):
    with running(create_app(Shelf(saying_reader()), token="open sesame")) as address:
        page = visit(address)
        expect(page.locator("#locked")).to_be_visible(timeout=WAIT)
        page.fill("#token", "open sesame")
        page.keyboard.press("Enter")
        page.locator("#file").set_input_files(EXAMPLE)
        finished(page)
        page.close()


def test_all_of_it_works_with_keys_alone(page):
    page.keyboard.press("Tab")
    for _ in range(12):
        if page.evaluate("document.activeElement.id") == "example":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    finished(page)
    page.locator("#tab-latex").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "x"
    for _ in range(DOUBTFUL):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".lamp")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".menu")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#rendered msqrt msup mi").first).to_have_text("h", timeout=WAIT)
    assert page.evaluate("document.activeElement.textContent") == "h"
    page.locator("#tab-latex").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#source pre")).to_contain_text("<math", timeout=WAIT)


def test_it_fits_a_phone(visit, address):
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    page = visit(address, **phone)
    camera, files = page.locator("#photograph").bounding_box(), page.locator("#choose").bounding_box()
    assert camera["y"] < files["y"], "the camera comes first"
    assert camera["width"] > 2 * files["width"]
    expect(page.locator("#wrote")).not_to_be_empty(timeout=WAIT)
    shoot(page, "phone-welcome", whole=False)  # the whole of it would be taken as if it were no phone
    page.locator("#file").set_input_files(EXAMPLE)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    token(page, DOUBTFUL).tap()
    expect(page.locator(".menu")).to_be_visible()
    shoot(page, "phone", whole=False)
    picture, drawn = page.locator("#figure").bounding_box(), page.locator("#rendered").bounding_box()
    assert picture is not None
    assert drawn is not None
    assert abs(picture["x"] - drawn["x"]) < 2, "they stand below one another"


CONTRAST = """() => {
    const light = (color) => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (text, ground) => {
        const [a, b] = [light(text), light(ground)].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
    };
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const panel = style("#rendered").backgroundColor;
    return [
        ratio(style("body").color, style("body").backgroundColor),
        ratio(style("#sure").color, style("body").backgroundColor),
        ratio(style("#copy").color, panel),
        ratio(style("#choose").color, style("#choose").backgroundColor),
        ratio(style("a").color, style("body").backgroundColor),
    ];
}"""


def test_light_and_dark_are_both_legible(visit, address):
    grounds = set()
    for scheme in ("light", "dark"):
        page = visit(address, color_scheme=scheme)
        page.locator("#file").set_input_files(EXAMPLE)
        finished(page)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert min(page.evaluate(CONTRAST)) >= 4.5
        shoot(page, scheme)
    assert len(grounds) == 2


def test_a_picture_that_comes_before_the_list_of_models_asks_for_other_readings_too(visit, address):
    page = visit(address)
    page.route("**/v1/models", lambda route: None)  # the answer does not come
    page.reload()
    with page.expect_request("**/v1/read*") as asked:
        page.locator("#file").set_input_files(EXAMPLE)
    assert "n_best" in asked.value.url


@pytest.mark.skipif("formula" not in embedded_names(), reason="the package has no formula model yet")
def test_the_model_of_the_package_reads_the_example(visit):
    with running(create_app(Shelf.open())) as address:
        page = visit(address)
        page.click("#example")
        finished(page)
        shoot(page, "model")
        assert page.locator("#rendered mfrac msqrt").count() == 1
        read = source(page)
        page.click("#others summary")
        other = page.locator("#others li button").first
        shown = normalise(other.inner_text().rsplit(" (", 1)[0])  # the list is for people, the editor has the tokens
        assert shown != normalise(read)
        shoot(page, "readings")
        other.click()
        assert normalise(source(page)) == shown
        page.click("#reset")
        assert source(page) == read
        page.close()


@pytest.mark.skipif(not {"formula", "receipt"} <= set(embedded_names()), reason="a model of the package is missing")
def test_the_models_of_the_package_read_the_samples(visit):
    with running(create_app(Shelf.open())) as address:
        page = visit(address)
        expect(page.locator("#drawn msqrt")).to_be_visible(timeout=4 * WAIT)
        shoot(page, "samples")
        page.click("[data-file='handwritten.svg']")
        expect(page.locator("#status")).to_contain_text("Read in", timeout=4 * WAIT)
        shoot(page, "sample-handwritten")
        assert normalise(source(page)) == "a ^ { 2 } + b ^ { 2 } = c ^ { 2 }"
        page.goto(address)
        page.click("[data-file='receipt.svg']")
        expect(page.locator(".row input").last).to_be_visible(timeout=8 * WAIT)
        shoot(page, "sample-receipt")
        fields = page.locator(".row").evaluate_all("all => all.map((row) => row.querySelector('input').value)")
        assert "13.30" in " ".join(fields)
        if "page" in embedded_names():
            page.goto(address)
            page.click("[data-file='page.svg']")
            expect(page.locator("#rendered .block").nth(2)).to_be_visible(timeout=8 * WAIT)
            shoot(page, "sample-page")
            expect(page.locator("#rendered")).to_contain_text("question returns to the orchard")
        page.close()


@pytest.mark.skipif(
    not {"formula", "word", "page"} <= set(embedded_names()), reason="a model of the package is missing"
)
def test_what_a_picture_shows_is_found_out_by_looking(visit):
    word = io.BytesIO()
    image = Image.new("L", (300, 60), 255)
    ImageDraw.Draw(image).text((12, 8), "breakfast", fill=0, font=ImageFont.load_default(40))
    image.save(word, "PNG")
    with running(create_app(Shelf.open())) as address:
        page = visit(address)
        expect(page.locator("#drawn msqrt")).to_be_visible(timeout=4 * WAIT)
        expect(page.locator("#model option").first).to_have_text("what it looks like")
        page.locator("#file").set_input_files({"name": "w.png", "mimeType": "image/png", "buffer": word.getvalue()})
        expect(page.locator("#status")).to_contain_text("as a word", timeout=4 * WAIT)
        shoot(page, "looked")
        assert "breakfast" in page.locator("#source").inner_text()
        page.locator("#file").set_input_files(EXAMPLE)
        expect(page.locator("#status")).to_contain_text("as a formula", timeout=4 * WAIT)
        page.select_option("#model", "word")  # a person knows better
        expect(page.locator("#status")).to_have_text(re.compile(r"Read in [\d.]+ s\.$"), timeout=4 * WAIT)
        page.close()


def test_a_new_picture_ends_the_reading_of_the_one_before(visit):
    slow = Limits(workers=1)
    with running(create_app(Shelf(saying_reader(step_seconds=0.15)), slow)) as address:
        page = visit(address)
        expect(page.locator("#wrote")).not_to_be_empty(timeout=2 * WAIT)
        page.locator("#file").set_input_files(EXAMPLE)
        expect(page.locator(".growing")).to_contain_text("x", timeout=WAIT)
        page.click("#draw")
        until(page, "fetch('/metrics').then((a) => a.text()).then((text) => /abandoned_pages_total 1/.test(text))")
        page.close()
