"""The web page, in a real browser: every way in, every way out, with mouse, keys, on a phone, and when things go wrong.

Screenshots of what it looks like are left in tests/output for a person to see.
"""

import base64
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright
from serving import QUADRATIC, running, saying_reader

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
def address() -> Iterator[str]:
    with running(create_app(Shelf(saying_reader(step_seconds=0.005)))) as address:
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
    return visit(address)


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
    return " ".join(page.locator(".token").all_inner_texts())


def shoot(page: Page, name: str) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"page-{name}.png", full_page=True)


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
    page.locator("#file").set_input_files(EXAMPLE)
    expect(page.locator(".growing")).to_contain_text("x", timeout=WAIT)
    finished(page)
    shoot(page, "result")
    assert source(page) == TEXT
    assert page.locator("#rendered mfrac msqrt").count() == 1
    assert page.locator("#rendered mfrac").evaluate("node => node.getBoundingClientRect().height") > 30
    seen, drawn = page.locator("#figure img").bounding_box(), page.locator("#rendered").bounding_box()
    assert seen is not None
    assert drawn is not None
    assert seen["x"] + seen["width"] <= drawn["x"], "they stand side by side"
    expect(page.locator("#sure")).to_contain_text("2 doubtful symbols")


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_a_picture_can_be_dropped_and_pasted(page, kind):
    send_event(page, kind, "formula.png", EXAMPLE.read_bytes())
    finished(page)
    assert source(page) == TEXT


def test_a_formula_can_be_drawn(page):
    page.click("#draw")
    draw_cross(page)
    finished(page)
    shoot(page, "drawing")
    page.click("#undo")
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


def test_tokens_are_tinted_by_doubt(result):
    tint = "node => getComputedStyle(node).backgroundColor"
    sure, doubtful, worst = (token(result, index).evaluate(tint) for index in (1, 5, DOUBTFUL))
    assert sure == "rgba(0, 0, 0, 0)"
    assert len({sure, doubtful, worst}) == 3


def test_choosing_an_alternative_renders_it_and_can_be_taken_back(result):
    token(result, DOUBTFUL).click()
    items = result.locator(".menu [role=menuitemradio]")
    assert [text.split()[0] for text in items.all_inner_texts()] == ["b", "6", "h", "\\delta"]
    shoot(result, "alternatives")
    items.nth(1).click()
    expect(result.locator("#rendered msqrt mn").first).to_have_text("6", timeout=WAIT)
    assert source(result).split()[DOUBTFUL] == "6"
    result.click("#reset")
    expect(result.locator("#rendered msqrt msup mi")).to_have_text("b", timeout=WAIT)
    assert source(result) == TEXT


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


def test_a_format_that_the_browser_cannot_show_is_drawn_by_the_server(page):
    buffer = io.BytesIO()
    with Image.open(EXAMPLE) as image:
        image.convert("RGB").save(buffer, "JPEG2000")
    page.locator("#file").set_input_files({"name": "scan.jp2", "mimeType": "image/jp2", "buffer": buffer.getvalue()})
    finished(page)
    assert page.locator("#figure img").evaluate("image => image.naturalWidth") == 265


def test_earlier_reads_are_kept_in_this_browser(result, address):
    result.reload()
    card = result.locator("#earlier button")
    expect(card).to_have_count(1)
    reads = []
    result.on("request", lambda request: "/v1/read" in request.url and reads.append(request.url))
    card.click()
    expect(result.locator("#rendered msqrt")).to_be_visible(timeout=WAIT)
    assert (source(result), reads) == (TEXT, [])
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
def test_a_receipt_shows_its_fields_over_the_picture(page, placed):
    document = json.loads(json.dumps(RECEIPT))
    if not placed:  # as models tell it that write Donut's tags
        block = document["pages"][0]["blocks"][0]
        block["fields"] = {"menu": [{"nm": "TEA", "price": "2.50"}], "total": "12.50"}
        del block["children"]

    def answer(route: Route) -> None:
        route.fulfill(body=f"event: document\ndata: {json.dumps(document)}\n\n", content_type="text/event-stream")

    page.route("**/v1/read*", answer)
    page.locator("#file").set_input_files(EXAMPLE)
    rows = page.locator(".fields tr")
    expect(rows).to_have_count(2 if placed else 3, timeout=WAIT)
    assert "12.50" in rows.last.inner_text()
    rows.last.hover()
    expect(page.locator(".lamp")).to_be_visible(visible=placed)
    shoot(page, f"receipt-{'placed' if placed else 'plain'}")
    expect(page.locator("#tab-json")).to_have_attribute("aria-selected", "true")
    assert json.loads(page.locator("#source pre").inner_text()) == document["pages"][0]["blocks"][0]["fields"]


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
    expect(page.locator("#sure")).to_contain_text("nothing to read", timeout=WAIT)


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
    page.locator("#file").set_input_files(EXAMPLE)
    finished(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    token(page, DOUBTFUL).tap()
    expect(page.locator(".menu")).to_be_visible()
    shoot(page, "phone")
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


def test_a_new_picture_ends_the_reading_of_the_one_before(visit):
    slow = Limits(workers=1)
    with running(create_app(Shelf(saying_reader(step_seconds=0.15)), slow)) as address:
        page = visit(address)
        page.locator("#file").set_input_files(EXAMPLE)
        expect(page.locator(".growing")).to_contain_text("x", timeout=WAIT)
        page.click("#draw")
        until(page, "fetch('/metrics').then((a) => a.text()).then((text) => /abandoned_pages_total 1/.test(text))")
        page.close()
