"""The report's page in a browser: no network requests, tables that sort and filter, plots, phones and dark pages."""

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import sync_playwright

from rtl_tests.support.optional import CHROMIUM, NEEDS_CHROMIUM
from rtl_tests.synth.report.test_report import SECTIONS, rendered
from synth.report.plan import FORMATS

pytestmark = NEEDS_CHROMIUM
MACS = '[aria-label^="MAC by format"] tbody tr'

WIDE = (
    "[...document.body.querySelectorAll('*')]"
    ".filter((item) => !item.closest('.scroll, nav div, pre') && item.getBoundingClientRect().right > innerWidth)"
)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])  # root cannot have one
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address():
    return (rendered() / "index.html").as_uri()


@pytest.fixture
def opened(browser, address):
    """Opens the page; fails if the page makes a request or reports an error."""
    contexts, events = [], []

    def opened(width=1280, scheme="light"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme))
        contexts[-1].set_default_timeout(10_000)
        page = contexts[-1].new_page()
        page.on("request", lambda request: events.append(request.url))
        page.on("console", lambda message: events.append(message.text))
        page.on("pageerror", lambda error: events.append(str(error)))
        page.goto(address)
        return page

    yield opened
    assert {event for event in events if not event.startswith("data:")} <= {address}
    for context in contexts:
        context.close()


def names(page):
    """Formats of the visible rows in the table of MACs."""
    return page.locator(f"{MACS}:visible th").all_inner_texts()


def test_heads_sort_by_keyboard(opened):
    page = opened()
    head = page.locator('[aria-label^="MAC by format"] thead th').nth(2)
    head.locator("button").focus()
    before = names(page)
    assert before == list(FORMATS)
    for state, order in (("ascending", before), ("descending", before[::-1]), (None, before), ("ascending", before)):
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == state
        assert names(page) == order
    page.locator('[aria-label^="MAC by format"] thead th').first.locator("button").click()
    assert names(page) == sorted(before)
    assert head.get_attribute("aria-sort") is None


COLUMNS = """[...document.querySelectorAll("main table")].flatMap((table) =>
  [...table.tHead.rows[0].cells].map((head, column) => {
    head.querySelector("button").click();
    const values = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value ?? "");
    return [`${table.ariaLabel}: ${head.innerText}`, values];
  }))"""
"""The values of every column of every table after a click on its head."""


def test_every_column_sorts(opened):
    """Values go from small to large, and cells without a value come last; every section has a table."""
    page = opened()
    sections = page.evaluate("[...document.querySelectorAll('section:has(table)')].map((section) => section.id)")
    assert sections == list(SECTIONS)
    columns = dict(page.evaluate(COLUMNS))
    assert len(columns) > 70
    for name, values in columns.items():
        assert values == sorted(values, key=lambda value: float(value or "inf")), name


def test_numbers_sort_as_numbers(opened):
    page = opened()
    page.locator("#figures summary").click()
    table = page.locator("#figures table")
    table.get_by_role("button", name="figure", exact=True).click()
    figures = [float(text.replace(",", "")) for text in table.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert len(figures) > 200
    assert figures == sorted(figures)
    assert figures[0] < 100 < figures[-1]


def test_words_filter(opened):
    page = opened()
    box = page.locator(".table", has=page.locator(MACS)).first
    box.get_by_label("Filter").fill("E5M2 no")
    assert names(page) == ["e5m2_nosub"]
    assert box.locator("output").inner_text() == f"1 of {len(FORMATS)} rows"
    box.get_by_label("Filter").fill("")
    assert names(page) == list(FORMATS)
    assert box.locator("output").inner_text() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_plot_is_a_picture_on_white(opened, tmp_path, scheme):
    """Every plot stands below the heading of its section and has text, lines and colours.

    One style is for all plots, so in the dark scheme the first plot of each section is compared.
    """
    page = opened(scheme=scheme)
    assert page.locator("main h2").all_inner_texts() == [title for title, _ in SECTIONS.values()]
    for anchor, (_, plots) in SECTIONS.items():
        images = page.locator(f"#{anchor} img").all()
        assert len(images) == plots
        for place, image in enumerate(images if scheme == "light" else images[:1]):
            file, box = tmp_path / f"{anchor}_{place}.png", image.bounding_box()
            image.screenshot(path=file)
            picture = np.rint(255 * imread(file)[..., :3]).astype(int)
            assert picture.shape[:2] == pytest.approx((box["height"], box["width"]), abs=2)
            assert box["width"] > 300
            assert box["height"] > 100
            colours, pixels = np.unique(picture @ (1 << 16, 1 << 8, 1), return_counts=True)
            assert colours[pixels.argmax()] == 0xFFFFFF
            assert len(colours) > 200, file


BOXES = """[...document.querySelectorAll("text")].map((text) => {
    const box = text.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom, text.textContent];
})"""


def test_no_text_of_a_plot_covers_another(opened):
    page = opened()
    images = page.locator("img").evaluate_all("(images) => images.map((image) => image.src)")
    assert len(images) == sum(plots for _, plots in SECTIONS.values())
    for image in images:
        page.goto(image)
        boxes = page.evaluate(BOXES)
        width, height = page.evaluate("[document.documentElement.clientWidth, document.documentElement.clientHeight]")
        assert len(boxes) > 10
        for left, top, right, bottom, text in boxes:
            assert min(left, top, width - right, height - bottom) >= 0, text
        left, top, right, bottom = np.array([box[:4] for box in boxes], float).T[:, :, np.newaxis]
        apart = np.maximum.reduce([left - right.T, left.T - right, top - bottom.T, top.T - bottom])
        np.fill_diagonal(apart, np.inf)
        one, other = np.unravel_index(apart.argmin(), apart.shape)
        assert apart.min() > -3, (boxes[one], boxes[other])  # boxes are as high as a line


def test_a_phone_scrolls_down_only(opened):
    page = opened(width=390)
    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(f"{WIDE}.map((item) => item.outerHTML.slice(0, 100))") == []
    widths = "[...document.querySelectorAll('img')].map((image) => image.getBoundingClientRect().width)"
    assert min(page.evaluate(widths)) > 300


def test_dark_is_dark(opened):
    def components(page, colour):
        return page.evaluate(f"getComputedStyle(document.body).{colour}.match(/\\d+/g).slice(0, 3).map(Number)")

    for scheme, ground in (("light", 255), ("dark", 0)):
        page = opened(scheme=scheme)
        assert all(abs(part - ground) < 60 for part in components(page, "backgroundColor"))
        assert all(abs(part - ground) > 120 for part in components(page, "color"))
