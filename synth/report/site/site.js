// Charts follow the reader's theme and are drawn when they come into view; tables sort by a click on a head.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = () => css("--palette").split(/\s+/);

const loaded = new Promise((resolve) => addEventListener("load", resolve, { once: true }));
let plotly; // the script is large: it is loaded after the page, when the first chart comes into view
async function library() {
  await loaded;
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "plotly.min.js";
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = reject;
    document.head.append(script);
  });
  return plotly;
}

// A trace names its colour in meta: a place in the palette, or a variable of the style.
function coloured(trace, colours) {
  const place = trace.meta;
  const colour = typeof place === "number" ? colours[place % colours.length] : css(`--${place}`);
  const thin = { color: css("--ink"), thickness: 1, width: 2 };
  const marker = { ...trace.marker, color: colour };
  const errors = Object.fromEntries(["error_x", "error_y"].filter((key) => trace[key]).map((key) => [key, { ...thin, ...trace[key] }]));
  return { ...trace, marker, ...(trace.type === "scatter" ? { line: { ...trace.line, color: colour } } : {}), ...errors };
}

function layoutOf({ layout }) {
  const axis = { automargin: true, gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line") };
  const axes = Object.fromEntries(["xaxis", "yaxis"].map((key) => [key, { ...axis, ...layout[key] }]));
  const shapes = (layout.shapes ?? []).map((shape) => ({ ...shape, fillcolor: css("--band"), line: { width: 0 } }));
  const legend = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 } };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"), size: 12 },
    margin: { l: 56, r: 16, t: 8, b: 48 }, legend, hovermode: "closest", ...layout, ...axes, shapes,
    ...(innerWidth < 700 ? { dragmode: false } : {}),
  };
}

async function draw(box, chart) {
  const Plotly = await library();
  const colours = palette();
  box.chart = chart;
  const options = { displayModeBar: false, responsive: true, showTips: false };
  await Plotly.react(box, chart.data.map((trace) => coloured(trace, colours)), layoutOf(chart), options);
  box.dataset.drawn = "yes";
}

async function picture(box, name) {
  const Plotly = await library();
  if (!box.chart) await draw(box, JSON.parse(box.nextElementSibling.textContent));
  const { width, height } = box.getBoundingClientRect();
  const title = { text: box.ariaLabel.replaceAll("<", "&lt;"), font: { size: 14 }, automargin: true, yref: "container", y: 0.98 };
  const drawn = { data: box.data, layout: { ...box.layout, title } };
  const address = await Plotly.toImage(drawn, { format: "svg", width: Math.round(width), height: Math.round(height) + 40 });
  save(decodeURIComponent(address.slice(address.indexOf(",") + 1)), `${name}.svg`, "image/svg+xml");
}

function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target, JSON.parse(target.nextElementSibling.textContent));
  }
}, { rootMargin: "200px" });
const boxes = [...document.querySelectorAll("figure:has(script) .chart")];
boxes.forEach((box) => seen.observe(box));
dark.addEventListener("change", () => document.querySelectorAll(".chart").forEach((box) => box.chart && draw(box, box.chart)));

// A figure or table as PDF: the browser prints it alone.
function printed(item) {
  item.classList.add("printed");
  document.body.classList.add("printing");
  print();
}
addEventListener("afterprint", () => {
  document.body.classList.remove("printing");
  document.querySelectorAll(".printed").forEach((item) => item.classList.remove("printed"));
});
document.querySelectorAll(":is(figure, .table) :is(.pdf, .svg)").forEach((button) => {
  const item = button.closest("figure, .table"), isPdf = button.classList.contains("pdf");
  button.addEventListener("click", () => (isPdf ? printed(item) : picture(item.querySelector(".chart"), item.id)));
});

// Cells with a value sort by value and come first; other cells sort as text.
const collator = new Intl.Collator("en", { numeric: true });
function compareCells(a, b) {
  const [x, y] = [a, b].map((cell) => cell.dataset.value);
  if (x !== undefined && y !== undefined) return x - y;
  if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
  return collator.compare(a.textContent, b.textContent);
}

function sortable(table) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const next = now === "descending" ? null : now ? "descending" : "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const empty = (row) => row.cells[column].textContent.trim() === "–";
      const turn = next === "descending" ? -1 : 1;
      const order = (a, b) => empty(a) - empty(b) || turn * compareCells(a.cells[column], b.cells[column]);
      body.append(...(next ? rows.toSorted(order) : rows));
    });
  });
}
document.querySelectorAll("table:has(tbody)").forEach(sortable);

// A link to a folded table opens it.
function open() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", open);

// A page that is renewed keeps which tables are open.
const tables = () => [...document.querySelectorAll("details[id]")], place = `open ${location.pathname}`;
const kept = JSON.parse(sessionStorage.getItem(place) ?? "{}");
tables().forEach((item) => (item.open = kept[item.id] ?? item.open));
addEventListener("toggle", () => sessionStorage.setItem(place, JSON.stringify(Object.fromEntries(tables().map((item) => [item.id, item.open])))), true);
open();
