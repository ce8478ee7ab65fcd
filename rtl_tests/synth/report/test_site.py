"""The report's pages in a browser: no network, charts, Compare, downloads, short pages, phones, dark themes."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from importlib.resources import files
from math import inf
from urllib.parse import unquote, urlencode

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from rtl_tests.support.optional import CHROMIUM, NEEDS_CHROMIUM
from rtl_tests.support.reported import chosen
from rtl_tests.synth.report.test_report import NAMES, SECTIONS, rendered
from synth.area.figures import compared, number, ranged
from synth.report.plan import FORMATS, P3109_PAIR, PAIR
from synth.report.points import AREA, DELAY, ENERGY, FASTEST, SHORTEST, Point

pytestmark = NEEDS_CHROMIUM
SCREEN = 1000
"""Height of a screen in pixels."""
MACS = '[aria-label^="MAC by format"] tbody tr'
WIDE = (
    "[...document.body.querySelectorAll('*')].filter((item) => !item.closest('.scroll, nav div, pre, svg, .skip'))"
    ".filter((item) => item.getBoundingClientRect().right > innerWidth)"
)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])  # root cannot have one
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder():
    return rendered()


@pytest.fixture
def opened(browser, folder):
    """Opens a page; fails if it makes a request for anything outside its folder, or reports anything."""
    contexts, events = [], []

    def opened(name="index", width=1400, scheme="light", height=SCREEN, address=""):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme))
        contexts[-1].set_default_timeout(60_000)
        page = contexts[-1].new_page()
        page.on("request", lambda request: events.append(unquote(request.url)))
        page.on("console", lambda message: events.append(message.text))
        page.on("pageerror", lambda error: events.append(str(error)))
        page.goto((folder / f"{name}.html").as_uri() + address)
        return page

    yield opened
    known = (folder.as_uri(), "data:", "blob:")
    assert [event for event in events if not event.startswith(known)] == []
    for context in contexts:
        context.close()


def drawn(page):
    """Draws all charts, as scrolling does, and waits for them."""
    page.evaluate("Promise.all(boxes.map((box) => draw(box, JSON.parse(box.nextElementSibling.textContent))))")
    page.wait_for_selector(".chart:not([data-drawn])", state="detached")
    return page


def names(page):
    """Formats of the visible rows in the table of MACs."""
    return page.locator(f"{MACS}:visible th").all_inner_texts()


# -- pages


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_pages_are_short_and_readable(opened, folder, name, width, scheme):
    """Three screens for the first page, on a phone eight as for others; nothing moves sideways; axe finds nothing."""
    page = drawn(opened(name, width, scheme))
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height <= SCREEN * (3 if name == "index" and width > 1000 else 8)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(f"{WIDE}.map((item) => item.outerHTML.slice(0, 100))") == []
    charts = page.locator(".chart").count()
    assert charts == page.locator(".chart .main-svg:first-child").count()
    assert page.locator("h1").count() == 1
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []


TEXTS = """[...document.querySelectorAll(".chart")].map((chart) => [chart.ariaLabel,
  [chart, ...[...chart.querySelectorAll("text")].filter((item) => item.textContent.trim() && item.checkVisibility())]
    .map((item) => item.getBoundingClientRect()).map(({left, top, right, bottom}) => [left, top, right, bottom])])"""
"""Edges of every chart, and of each text in it."""


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_chart_covers_another(opened, name, width):
    for title, (edges, *texts) in drawn(opened(name, width)).evaluate(TEXTS):
        assert len(texts) > 5, title
        left, top, right, bottom = np.array(texts).T[:, :, np.newaxis]
        inside = left - edges[0], top - edges[1], edges[2] - right, edges[3] - bottom
        assert np.min(inside) > -1, title
        apart = np.maximum.reduce([left - right.T, left.T - right, top - bottom.T, top.T - bottom])
        np.fill_diagonal(apart, np.inf)
        assert apart.min() > -3, title  # edges are those of a line


def test_the_large_script_does_not_delay_a_page(folder):
    for name in NAMES:
        assert "plotly" not in (folder / f"{name}.html").read_text()


def test_charts_are_drawn_when_they_come_into_view(opened):
    page = opened("area", height=400)
    last = page.locator(".chart").last
    assert last.get_attribute("data-drawn") is None
    last.scroll_into_view_if_needed()
    last.locator(".main-svg").first.wait_for()


def test_dark_is_dark(opened):
    def components(page, item, colour):
        code = f"(item) => getComputedStyle(item).{colour}.match(/\\d+/g).slice(0, 3).map(Number)"
        return page.locator(item).first.evaluate(code)

    for scheme, ground in (("light", 255), ("dark", 0)):
        page = drawn(opened("energy", scheme=scheme))
        assert all(abs(part - ground) < 60 for part in components(page, "body", "backgroundColor"))
        for item, colour in (("body", "color"), (".chart .ytick text", "fill"), (".chart .xtitle", "fill")):
            assert all(abs(part - ground) > 120 for part in components(page, item, colour))


def test_charts_follow_a_change_of_theme(opened):
    page = drawn(opened("encoders"))
    text = page.locator(".chart .ytick text").first
    before = text.evaluate("(item) => getComputedStyle(item).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(1000)
    assert page.locator(".chart .ytick text").first.evaluate("(item) => getComputedStyle(item).fill") != before


def test_links_open_folded_tables(opened):
    page = opened("area")
    table = page.locator("details.table:not([open])").first
    name = table.get_attribute("id")
    page.goto(page.url + f"#{name}")
    assert page.locator(f"#{name}").evaluate("(item) => item.open")


def test_a_page_that_is_renewed_keeps_its_tables(opened):
    """One that was opened, and one that was closed."""
    for name, selector in (("area", "details.table:not([open])"), ("papers", "details.table[open]")):
        page = opened(name)
        table = f"#{page.locator(selector).first.get_attribute('id')}"
        before = page.locator(table).evaluate("(item) => item.open")
        page.locator(f"{table} > summary").click()
        kept = f"JSON.parse(sessionStorage.getItem(place) ?? '{{}}')['{table[1:]}']"
        stored = f"{kept} === document.querySelector('{table}').open"  # by an event, which comes later
        for _ in range(500):  # the page's policy forbids wait_for_function, which evaluates texts in it
            if page.evaluate(stored):
                break
            page.wait_for_timeout(20)
        page.reload()
        assert page.locator(table).evaluate("(item) => item.open") is not before


# -- tables


def test_heads_sort_by_keyboard(opened):
    page = opened("area")
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    head = page.locator('[aria-label^="MAC by format"] thead th').nth(2)
    head.locator("button").focus()
    before = names(page)
    assert sorted(before) == sorted(FORMATS)
    for state, order in (("ascending", before), ("descending", before[::-1]), (None, before), ("ascending", before)):
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == state
        assert names(page) == order
    page.locator('[aria-label^="MAC by format"] thead th').first.locator("button").click()
    assert names(page) == sorted(before)
    assert head.get_attribute("aria-sort") is None


COLUMNS = """[...document.querySelectorAll("main table:has(tbody)")].flatMap((table) =>
  [...table.tHead.rows[0].cells].map((head, column) => {
    head.querySelector("button").click();
    const values = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value ?? "");
    return [`${table.ariaLabel}: ${head.innerText}`, values];
  }))"""
"""The values of every column of every table after a click on its head."""


def test_every_column_sorts(opened):
    """Values go from small to large, and cells without a value come last."""
    columns = {}
    for name in NAMES[1:]:
        columns |= dict(opened(name).evaluate(COLUMNS))
    assert len(columns) > 30
    for name, values in columns.items():
        assert values == sorted(values, key=lambda value: float(value or inf)), name


# -- downloads


def downloaded(page, button):
    with page.expect_download() as download:
        button.click()
    return download.value.path().read_text(encoding="utf-8")


def words_of(svg):
    root = ET.fromstring(svg)
    return {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}


def test_a_chart_as_a_picture_and_as_numbers(opened, folder):
    page = opened("area")
    figure = page.locator("figure", has=page.get_by_role("img", name="MAC into binary16, Gates"))
    words = words_of(downloaded(page, figure.get_by_role("button", name="SVG")))
    assert {"MAC into binary16, Gates", "area [NAND2]", *FORMATS} <= words
    link = figure.get_by_role("link", name="CSV").get_attribute("href")
    lines = [*csv.DictReader(io.StringIO((folder / link).read_text()))]
    assert {line["y"] for line in lines} == set(FORMATS)
    assert {f"{float(line['x']):g}" for line in lines} <= {word.partition(" ")[0] for word in words}


@pytest.mark.parametrize(("name", "item"), [("area", "figure"), ("area", "details.table"), ("index", "#compare .both")])
def test_an_item_as_pdf_is_printed_alone(opened, name, item):
    """The browser's dialog writes the PDF: without the rest of the page, which comes back."""
    page = drawn(opened(name, scheme="dark"))
    page.evaluate("window.print = () => (document.title += '.')")
    first = page.locator(item).first
    first.evaluate("(item) => (item.open = true)")
    title = page.title()
    (page.locator("#compare .pdf") if name == "index" else first.locator(".pdf")).click()
    page.emulate_media(media="print")
    assert page.title() == f"{title}."
    assert first.is_visible()
    assert not any(other.is_visible() for other in page.locator("h1, h2, nav, footer, .intro, form").all())
    shown = "(all) => all.filter((item) => item.checkVisibility()).length"
    assert page.locator("figure, .table").evaluate_all(shown) == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("h1").is_visible()


# -- Compare


CHOICES = [
    {},
    {"formats": f"hif8,{PAIR}", "unit": "mac", "accumulator": "binary16", "target": "gates"},
    {"formats": f"{PAIR},hif8,e5m2b1", "unit": "mac", "accumulator": "binary16", "target": "gates", "limit": "45"},
    {"formats": "hif8,ocp_e4m3", "unit": "mac", "accumulator": "binary16", "target": "gates", "limit": "20"},
    {"formats": "ocp_e4m3,hif8,e5m2b1", "unit": "mac", "accumulator": "exact", "target": "cyclonev"},
    {"formats": "ocp_e4m3,hif8,ocp_e5m2", "unit": "dot", "accumulator": "binary32", "target": "gates"},
    {"formats": "hif8,ocp_e4m3", "unit": "pe", "accumulator": "binary16", "target": "gates"},
    {"formats": "hif8,int8", "unit": "pe", "accumulator": "binary32", "target": "gates"},  # areas are by two tools
    {
        "formats": "hif8,ocp_e4m3,ocp_e5m2",
        "unit": "encoder",
        "accumulator": "ties_to_even",
        "target": "gates",
        "limit": "40",
    },
    {"formats": "hif8,ocp_e4m3", "unit": "encoder", "accumulator": "ties_to_away", "target": "gates"},
    {"formats": ",".join(FORMATS[:6]), "unit": "mac", "accumulator": "binary16", "target": "ice40"},
]


AT_ANY_SPEED = {AREA: AREA, DELAY: "its delay", ENERGY: "its energy", SHORTEST: SHORTEST, FASTEST: FASTEST}
COLUMNS_AT = AT_ANY_SPEED, {AREA: AREA, DELAY: "its delay", ENERGY: "least energy"}
"""Columns by metric, at any speed and within a limit."""


def shown(page):
    """The cells of Compare by choice and column: value, and spread with verdict."""
    lines = [*csv.reader(io.StringIO(downloaded(page, page.locator("#compare .csv"))))]
    head = [text.partition(" [")[0].partition(", into")[0] for text in lines[0]]
    return {line[0]: dict(zip(head[1::2], zip(line[1::2], line[2::2], strict=True), strict=True)) for line in lines[1:]}


@pytest.mark.parametrize("choice", CHOICES, ids=range(len(CHOICES)))
def test_compare_shows_the_points_of_the_json(opened, folder, choice):
    """Each figure and verdict is that of Python, from the same table; what was not measured names its command."""
    data = json.loads((folder / "compare.json").read_text())
    table = [Point(*point) for point in data["points"]]
    page = opened(address=f"#compare&{urlencode(choice)}" if choice else "")
    cells = shown(page)
    names = choice["formats"].split(",") if choice else data["default"]
    assert list(cells) == names
    unit, limit = choice.get("unit", "mac"), choice.get("limit")
    accumulator = choice.get("accumulator", "binary16")
    where = unit, accumulator, choice.get("target", "gates"), limit and float(limit)
    commands, words = page.locator("#compare pre").text_content(), page.locator("#compare .verdict").inner_text()
    for name in names:
        for metric, column in COLUMNS_AT[limit is not None].items():
            point, first = (chosen(table, each, metric, *where) for each in (name, names[0]))
            value, note = cells[name][column]
            if point is None:
                known = any(each[:5] == (name, *where[:3], metric) and each.delay for each in table)
                assert value == (("not so fast" if limit else "only within limits") if known else "not measured")
                verb = "energy" if metric == ENERGY or (metric == DELAY and not limit) else "area"
                assert f"not measured: {name}, {metric}: hwgen {verb} {unit} --format {name}" in commands
                continue
            assert float(value) == point.value
            assert point.command in commands
            if first and name != names[0]:
                unknown = "spread unknown" if point.tool == first.tool else "another tool"
                verdict = compared(point.figure, first.figure) or unknown
                assert note.rpartition(" · ")[2] == verdict
                said = verdict if verdict != "no difference" else "no difference within the spreads"
                if metric != DELAY:
                    text = ranged(point.figure, first.figure).partition(" (")[2].rstrip(")")
                    both = f"({text}, " if text else "("
                    said += f" {both}{number(point.value)} against {number(first.value)} {point.of})"
                    assert f"{column} {said}" in words.partition(f"{name} against {names[0]}: ")[2].partition(";")[0]
    for metric in data["extras"]:
        point = chosen(table, names[0], metric, "", accumulator if metric.startswith("loss") else "", "")
        if point and metric in cells[names[0]]:
            assert float(cells[names[0]][metric][0]) == point.value


def test_the_address_keeps_the_choice(opened):
    page = opened()
    page.get_by_label("Unit").select_option("encoder")
    page.get_by_label("Limit in FO4").fill("40")
    page.locator(f'#compare [value="{PAIR}"]').uncheck()
    page.locator('#compare [value="ocp_e4m3"]').check()
    before = page.locator("#compare .verdict").inner_text()
    assert before.startswith("Within 40 FO4, encoder from binary32 with ties_to_")
    assert "ocp_e4m3 against hif8: " in before
    page.reload()
    assert page.locator("#compare .verdict").inner_text() == before
    assert page.get_by_label("Unit").input_value() == "encoder"
    link = page.locator("#compare .address").get_attribute("href")
    assert opened(address=link).locator("#compare .verdict").inner_text() == before


def enabled(page, name):
    options = page.get_by_label(name).locator("option")
    return options.evaluate_all("(all) => all.filter((option) => !option.disabled).map((option) => option.value)")


def test_what_was_not_measured_cannot_be_chosen(opened):
    """A unit that was not measured into the accumulator brings one into which it was; an address keeps its own."""
    page = opened(address="#compare&formats=hif8,e5m2b1")
    assert {"mac", "dot", "encoder"} <= set(enabled(page, "Unit"))
    page.get_by_label("Unit").select_option("dot")
    known = {*enabled(page, "Accumulator")}
    assert page.get_by_label("Accumulator").input_value() in known
    assert {"binary32", "exact"} < known <= {"binary32", "exact", "aligned13"}
    assert page.locator("#compare .verdict").inner_text().startswith("At any speed, dot product of 8 into ")
    assert shown(page)["hif8"]["area"][0] != "not measured"
    page = opened(address="#compare&formats=hif8,e5m2b1&unit=dot&accumulator=binary16")
    assert page.get_by_label("Accumulator").input_value() == "binary16"
    words = page.locator("#compare .verdict").inner_text()
    assert words.startswith("Not measured for these formats. Measured: into ")
    assert "into binary32 on Gates" in words
    assert "hwgen area dot --format hif8 --accumulator binary16 --lanes 8 --target gates" in words
    assert page.locator("#compare .links details").evaluate("(item) => item.open")
    assert page.get_by_label("Unit").locator("[value=decoder]").count() == 0


def test_no_command_is_shown_for_an_encoder_of_a_pair(opened):
    """There is none: hwgen refuses it."""
    page = opened(address=f"#compare&formats={PAIR},hif8&unit=encoder&target=ecp5".replace("+", "%2B"))
    commands = page.locator("#compare pre").text_content()
    assert "hwgen area encoder --format hif8" in commands
    assert f"--format {PAIR}" not in commands
    page = opened(address=f"#compare&formats={PAIR},{P3109_PAIR}&unit=encoder".replace("+", "%2B"))
    words = page.locator("#compare .verdict").inner_text()
    assert words == "Not measured for these formats. Two formats in one unit have no encoder."


def test_limits_that_nothing_meets_are_refused_in_words(opened):
    page = opened(address=f"#compare&formats=hif8,{PAIR}&limit=5")
    verdict = page.locator("#compare .verdict")
    least = r"None of these formats has a MAC within 5 FO4: the shortest delay is [0-9.]+ FO4 \((\S+)\)\."
    assert re.fullmatch(least, verdict.inner_text())
    for limit in ("-5", "0"):
        page.get_by_label("Limit in FO4").fill(limit)
        assert verdict.inner_text() == f"A limit must be a number of FO4 above 0, not {limit}."
        assert page.locator("#compare tbody").count() == 0
    page.get_by_label("Limit in FO4").fill("")
    assert verdict.inner_text().startswith("At any speed, MAC into binary16 on Gates. ")


def test_the_shortest_delay_has_the_area_of_its_own_netlist(opened, folder):
    """It is not that of the smallest netlist, whose delay and energy stand beside its area."""
    table = [Point(*point) for point in json.loads((folder / "compare.json").read_text())["points"]]
    small, slow, quick, large = (chosen(table, "hif8", each) for each in (AREA, DELAY, SHORTEST, FASTEST))
    assert slow.value > 2 * quick.value
    assert large.value > 2 * small.value
    curve = [(point.delay, point.value) for point in table if point.delay and point[:5] == (*large[:4], AREA)]
    assert min(curve) == (quick.value, large.value)


def test_losses_are_those_of_the_accumulator(opened):
    """The column names it, and is left out if no policy of these formats adds in it."""
    loss = "loss above binary32, digits, with a scale of the loss"
    for accumulator, known in (("binary32", ["hif8"]), ("bfloat16", ["e5m2b1"]), ("dlfloat16", [])):
        page = opened(address=f"#compare&formats=hif8,e5m2b1&accumulator={accumulator}")
        head = page.locator("#compare thead").inner_text()
        assert (f"{loss}, into {accumulator}" in head) is bool(known)
        cells = {name: row.get(loss) for name, row in shown(page).items()}
        assert [name for name, cell in cells.items() if cell and cell[0] != "not measured"] == known
        assert all("policy " in cells[name][1] for name in known)


def test_compare_has_two_to_six_choices(opened):
    page = opened(address=f"#compare&formats=hif8,{PAIR}")
    boxes = page.locator("#compare [type=checkbox]")
    assert page.locator("#compare :checked:disabled[type=checkbox]").count() == 2
    for name in FORMATS[1:3] + FORMATS[4:6]:
        page.locator(f'#compare [value="{name}"]').check()
    assert page.locator("#compare [type=checkbox]:not(:disabled)").count() == 6 < boxes.count()


def test_the_picture_of_a_comparison(opened):
    page = drawn(opened(address=f"#compare&formats=hif8,{PAIR}"))
    words = words_of(downloaded(page, page.locator("#compare .links .svg")))
    assert {"hif8", PAIR, "area", "its energy", "ratio to hif8", "1.06"} <= words


def test_a_comparison_without_figures_has_a_sentence_and_no_chart(opened):
    """Of the first choice, to which all others are compared, or of all."""
    for words, said in (
        (f"formats={PAIR},hif8&accumulator=exact", f"hif8 against {PAIR}: {PAIR} not measured"),
        ("formats=e5m2b1,hif8&unit=dot&target=ecp5", "Not measured for these formats. "),
    ):
        page = opened(address=f"#compare&{words}".replace("+", "%2B"))
        assert said in page.locator("#compare .verdict").inner_text()
        assert not page.locator("#comparison").is_visible()
        assert page.locator("#compare .links .svg").is_disabled()
        page.goto(page.url.partition("#")[0] + f"#compare&formats={PAIR},hif8".replace("+", "%2B"))
        page.locator("#comparison .main-svg").first.wait_for()


def test_the_first_comparison_reads_as_the_first_finding(opened):
    """HiF8 against the pair, by the same share."""
    page = opened()
    finding = page.locator("#findings li").first.inner_text()
    share = finding.partition(f"pair {PAIR}: area of a MAC into binary16 ")[2].partition(" ")[0]
    assert f"hif8 against {PAIR}: area {share} (" in page.locator("#compare .verdict").inner_text()


def test_the_comparison_fits_a_phone(opened):
    """Each choice is a block of two columns, with the heads of the table beside its cells."""
    page = opened(width=390, address=f"#compare&formats={','.join(FORMATS[:6])}".replace("+", "%2B"))
    assert page.locator("#compare .scroll").evaluate("(item) => item.scrollWidth - item.clientWidth") == 0
    assert page.locator("#compare .scroll").evaluate("(item) => item.scrollHeight - item.clientHeight") == 0
    cell = page.locator("#compare tbody td").first
    content = cell.evaluate("(item) => getComputedStyle(item, '::before').content")
    assert content.replace('" "', "") == '"area [NAND2]: "'  # as one string or as two


def test_every_section_has_its_page(opened):
    for name in NAMES[1:]:
        page = opened(name)
        for anchor in page.locator("main section").evaluate_all("(all) => all.map((item) => item.id)"):
            assert page.locator(f"#{anchor} h2").inner_text() == SECTIONS[anchor][0]
