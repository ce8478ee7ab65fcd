// Compare: selects points of the table that the page contains, divides them by the first choice's, and says what
// differs. The choice is in the address. Whether two figures differ is decided as in synth/area/figures.py.
"use strict";

const data = JSON.parse(document.getElementById("points")?.textContent ?? "null");
// Metrics and their heads. At any speed: of the netlist with the smallest area, and of the one with the shortest delay;
// within a limit: the smallest area with the delay of that netlist, and the least energy, which may be another's.
const WITHIN = { area: "area", delay: "its delay", energy: "least energy" };
const FREE = { ...WITHIN, energy: "its energy", "shortest delay": "shortest delay", "area at the shortest delay": "area at the shortest delay" };
const heads = ({ limit }) => (limit === null ? FREE : WITHIN);
const into = ({ unit, accumulator }) => (unit === "decoder" ? "" : accumulator); // of an encoder: its rounding
const under = (state) => into(state) && ` ${state.unit === "encoder" ? "with" : "into"} ${state.accumulator}`;
const hasNone = ({ unit }, choice) => unit === "encoder" && choice.includes("+"); // two formats in one unit have no encoder
const MOST = 6;

const points = (data?.points ?? []).map((point) => Object.fromEntries(point.map((value, place) => [data.columns[place], value])));

// The figure of a choice: at any speed, or the last point of its front that is within a limit.
function chosen(choice, metric, { limit, ...state }) {
  const alone = data.extras.includes(metric); // losses of training are those with the accumulator, too
  const known = points.filter((point) => point.choice === choice && point.metric === metric && (alone
    ? ["", into(state)].includes(point.accumulator)
    : point.unit === state.unit && point.accumulator === into(state) && point.target === state.target));
  if (alone || limit === null) return known.find((point) => point.delay === null);
  const most = limit * (1 + 1e-9), curve = known.filter(({ delay }) => delay !== null);
  const last = (of) => of.reduce((a, b) => (a && a.delay > b.delay ? a : b), undefined);
  const point = last(curve.filter(({ delay }) => delay <= most));
  if (!point || point.soonest === null) return point;
  // Delays have spreads, too: the interval is that of all points that may be the last within the limit.
  const sure = last(curve.filter(({ latest }) => latest <= most))?.delay ?? 0;
  const possible = curve.filter(({ delay, soonest }) => delay >= sure && soonest <= most);
  return { ...point, low: Math.min(...possible.map(({ low }) => low)), high: Math.max(...possible.map(({ high }) => high)) };
}

// Why there is no figure, but one at other limits.
function lacks(choice, metric, state) {
  const isElsewhere = metric in WITHIN && chosen(choice, metric, { ...state, limit: Infinity });
  return isElsewhere ? (state.limit === null ? "only within limits" : "not so fast") : "not measured";
}

const alike = (a, b) => a && b && a.tool === b.tool; // figures of other tools are not compared
const below = (a, b) => a.high < b.low && Math.min(a.samples, b.samples) > 1;
const differs = (a, b) => below(a, b) || below(b, a);

function number(value) {
  const places = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const options = { maximumFractionDigits: places, useGrouping: Math.abs(value) >= 1000, roundingMode: "halfEven" }; // as Python
  return value.toLocaleString("en", options);
}
function percent(share) {
  const text = (100 * share).toFixed(Math.abs(share) >= 0.005 ? 0 : 1);
  return `${share > 0 ? "+" : ""}${text}%`;
}
function verdict(point, first) {
  if (!alike(point, first)) return "another tool";
  if (Math.min(point.samples, first.samples) < 2) return "spread unknown";
  return differs(point, first) ? percent(point.value / first.value - 1) : "no difference";
}

function ranged(point, first) {
  const text = verdict(point, first), both = `${number(point.value)} against ${number(first.value)} ${point.of}`;
  if (!text.endsWith("%")) return `${text === "no difference" ? "no difference within the spreads" : text} (${both})`;
  const [least, most] = [point.low / first.high, point.high / first.low].map((ratio) => `${ratio > 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)}%`);
  return `${text} (${least} to ${most}, ${both})`;
}

function command(choice, metric, state) {
  if (data.extras.includes(metric)) {
    const other = points.find((point) => point.metric === metric); // SNR and range of a format need only its name
    return other.note ? "make study (with a policy in synth/report/training/plan.py)" : other.command.replace(`'${other.choice}'`, `'${choice}'`);
  }
  const given = points.map((point) => point.choice === choice && point.command.match(/--format ('[^']*'|\S+)/)?.[1]).find(Boolean);
  const accumulator = into(state) && ` --${state.unit === "encoder" ? "rounding" : "accumulator"} ${state.accumulator.replace(/, (\d+) random bits/, " --random-bits $1")}`;
  const lanes = state.unit === "dot" ? " --lanes 8" : "";
  const portfolio = state.limit !== null || /short/.test(metric) ? " --portfolio speed" : "";
  const verb = metric === "energy" || (metric === "delay" && state.limit === null) ? "energy" : "area";
  return `hwgen ${verb} ${state.unit} --format ${given ?? choice}${accumulator}${lanes} --target ${state.target}${portfolio}`;
}

function sentence(rows, state) {
  const [first, ...others] = rows;
  const costs = Object.keys(heads(state));
  if (!rows.some((row) => costs.some((metric) => row[metric]))) return nothing(rows, state);
  const where = state.limit === null ? "At any speed" : `Within ${number(state.limit)} FO4`;
  const lacking = (row) => [row, first].filter((each) => !costs.some((metric) => each[metric])).map(({ choice }) => `${choice} ${lacks(choice, "area", state)}`);
  const texts = others.map((row) => {
    const known = costs.filter((metric) => row[metric] && first[metric] && (metric !== "delay" || row[metric].samples > 1 && state.limit === null));
    const words = known.map((metric) => `${heads(state)[metric]} ${ranged(row[metric], first[metric])}`);
    return `${row.choice} against ${first.choice}: ${words.join(", ") || lacking(row).join(" and ") || "no common figure"}`;
  });
  return `${where}, ${data.units[state.unit]}${under(state)} on ${data.targets[state.target]}. ${texts.join(";\n")}.`;
}

// Why there are no figures: a limit that nothing meets, or a unit that was not measured; and what there is instead.
function nothing(rows, state) {
  const unit = data.units[state.unit], fastest = rows.map((row) => chosen(row.choice, "shortest delay", { ...state, limit: null })).filter(Boolean);
  if (fastest.length) {
    const least = fastest.reduce((a, b) => (b.value < a.value ? b : a));
    return `None of these formats has a ${unit} within ${number(state.limit)} FO4: the shortest delay is ${number(least.value)} FO4 (${least.choice}).`;
  }
  const known = points.filter((point) => point.unit === state.unit && state.formats.includes(point.choice) && (state.limit === null || point.delay !== null));
  const where = new Set(known.map(({ accumulator, target }) => `${under({ ...state, accumulator }).trim()} on ${data.targets[target]}`.trim()));
  const instead = where.size ? `Measured: ${[...where].join(", ")}. ` : "";
  const { choice } = rows.find((row) => !hasNone(state, row.choice)) ?? rows[0];
  return `Not measured for these formats. ${instead}${hasNone(state, choice) ? "Two formats in one unit have no encoder." : `To measure it: ${command(choice, "area", state)}`}`;
}

function element(name, text = "", attributes = {}) {
  const made = Object.assign(document.createElement(name), { textContent: text });
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function cell(point, first, plain, missing) {
  if (!point) return element("td", missing, { class: "missing" });
  const made = element("td", number(point.value), { title: point.command, "data-value": point.value });
  const spread = point.low === point.high ? "" : `${number(point.low)} to ${number(point.high)}`;
  const against = plain || !first || first === point ? "" : verdict(point, first);
  const notes = [point.note, point.mark, point.samples > 1 ? spread : point.note ? "" : "one sample", against];
  made.append(element("small", notes.filter(Boolean).join(" · ")));
  return made;
}

function show(state) {
  const section = document.getElementById("compare");
  if (state.limit !== null && !(state.limit > 0)) {
    section.querySelector(".verdict").textContent = `A limit must be a number of FO4 above 0, not ${state.limit}.`;
    return section.querySelector("table").replaceChildren();
  }
  const metrics = [...Object.keys(heads(state)), ...data.extras];
  const rows = state.formats.map((choice) => ({ choice, ...Object.fromEntries(metrics.map((metric) => [metric, chosen(choice, metric, state)])) }));
  const used = metrics.filter((metric) => metric in FREE || rows.some((row) => row[metric]));
  const table = section.querySelector("table"), [first] = rows;
  const head = element("tr");
  head.append(element("th", `baseline: ${first.choice}`, { scope: "col" }), ...used.map((metric) => {
    const title = heads(state)[metric] ?? (metric.startsWith("loss") ? `${metric}, into ${state.accumulator}` : metric);
    const of = rows.map((row) => row[metric]?.of).find(Boolean);
    return element("th", of ? `${title} [${of}]` : title, { scope: "col" });
  }));
  const body = rows.map((row) => {
    const line = element("tr");
    const name = element("th", "", { scope: "row" });
    name.append(...row.choice.split(/(?<=\+)/).flatMap((part) => [part, element("wbr")]));
    line.append(name, ...used.map((metric, place) => {
      const made = cell(row[metric], first[metric], data.extras.includes(metric), lacks(row.choice, metric, state));
      made.dataset.head = head.cells[place + 1].textContent; // on a phone
      return made;
    }));
    return line;
  });
  const top = element("thead"), rest = element("tbody");
  top.append(head);
  rest.append(...body);
  table.replaceChildren(top, rest);
  section.querySelector(".verdict").textContent = sentence(rows, state);
  const missing = rows.flatMap((row) => used.filter((metric) => !row[metric] && !hasNone(state, row.choice)).map((metric) => `not measured: ${row.choice}, ${metric}: ${command(row.choice, metric, state)}`));
  const commands = rows.flatMap((row) => used.map((metric) => row[metric]?.command).filter(Boolean));
  section.querySelector("pre").textContent = [...new Set([...missing, ...commands])].join("\n");
  section.querySelector(".links details").open ||= rows.every((row) => !row.area);
  plot(rows, first, state);
}

function plot(rows, first, state) {
  const traces = rows.map((row, place) => {
    const known = Object.keys(heads(state)).filter((metric) => alike(row[metric], first[metric]));
    const ratio = (metric, end) => row[metric][end] / first[metric].value;
    const errors = { type: "data", symmetric: false, array: known.map((m) => ratio(m, "high") - ratio(m, "value")), arrayminus: known.map((m) => ratio(m, "value") - ratio(m, "low")) };
    const values = known.map((metric) => ratio(metric, "value"));
    const isNarrow = innerWidth < 700, x = known.map((metric) => heads(state)[metric].replaceAll(" ", isNarrow ? "<br>" : " "));
    const text = values.map((value) => (isNarrow ? "" : value.toFixed(2))); // a phone's bars are too thin
    return { type: "bar", name: row.choice, x, y: values, text, textposition: "auto", insidetextanchor: "start", constraintext: "none", cliponaxis: false, error_y: errors, meta: place };
  });
  const layout = { height: 260, barmode: "group", yaxis: { title: { text: `ratio to ${first.choice}` }, rangemode: "tozero" }, xaxis: { showgrid: false, tickangle: 0 } };
  const box = document.querySelector("#comparison .chart"), isEmpty = !traces.some(({ x }) => x.length);
  box.parentElement.hidden = document.querySelector("#compare .svg").disabled = isEmpty; // the sentence says why
  if (isEmpty) box.dataset.drawn = "yes";
  else draw(box, { title: "", data: traces, layout });
}

function csv() {
  const lines = [...document.querySelectorAll("#compare table tr")].map(({ cells: [name, ...others] }) => [name.textContent, ...others.flatMap((each) => (
    each.tagName === "TH" ? [each.textContent, `${each.textContent}: spread, verdict`]
      : [each.dataset.value ?? each.textContent, each.querySelector("small")?.textContent ?? ""]))]);
  return lines.map((line) => line.map((text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",")).join("\n") + "\n";
}

// -- the choice, which is in the address

function fromAddress() {
  const given = new URLSearchParams(location.hash.replace(/^#compare&?/, ""));
  const pick = (name, known = Object.keys(data[`${name}s`])) => (known.includes(given.get(name)) ? given.get(name) : known[0]);
  const formats = (given.get("formats") ?? "").replaceAll(" ", "+").split(",").filter((name) => data.choices.includes(name)).slice(0, MOST);
  const limit = given.get("limit");
  const state = {
    formats: formats.length > 1 ? formats : data.default,
    unit: pick("unit"), accumulator: pick("accumulator"), target: pick("target"),
    limit: limit === null ? null : Number(limit),
  };
  return given.has("accumulator") ? state : fitting(state);
}

// A unit brings the accumulator, or rounding, that most of the choices have, unless one of them has the present one.
function fitting(state) {
  const known = (choice) => points.filter((point) => point.unit === state.unit && point.choice === choice && point.accumulator);
  const every = state.formats.flatMap((choice) => [...new Set(known(choice).map(({ accumulator }) => accumulator))]);
  const count = (name) => every.filter((each) => each === name).length;
  return every.length && !count(state.accumulator) ? { ...state, accumulator: every.reduce((a, b) => (count(b) > count(a) ? b : a)) } : state;
}

function toAddress(state) {
  const words = Object.entries(state).filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]);
  return `#compare&${new URLSearchParams(words)}`;
}

function setUp() {
  const section = document.getElementById("compare"), form = section.querySelector("form");
  let state = fromAddress();
  const fill = () => {
    form.querySelectorAll("[name=formats]").forEach((box) => {
      box.checked = state.formats.includes(box.value);
      box.disabled = box.checked ? state.formats.length <= 2 : state.formats.length >= MOST;
    });
    // What was measured of none of the formats cannot be chosen, except that it is in the address.
    const known = points.filter((point) => state.formats.includes(point.choice));
    for (const name of ["unit", "accumulator", "target"]) {
      const used = new Set(known.filter((point) => name === "unit" || point.unit === state.unit).map((point) => point[name]));
      for (const option of form.elements[name].options) option.disabled = !used.has(option.value) && option.value !== state[name];
      form.elements[name].value = state[name];
    }
    form.elements.accumulator.disabled = !into(state);
    form.elements.limit.value = state.limit ?? "";
    section.querySelector(".address").href = toAddress(state);
    show(state);
  };
  form.addEventListener("input", ({ target }) => {
    if (target.name === "formats") {
      const others = state.formats.filter((name) => name !== target.value);
      state = { ...state, formats: target.checked ? [...others, target.value] : others };
    } else if (target.name === "limit") {
      state = { ...state, limit: target.value === "" ? null : Number(target.value) };
    } else state = { ...state, [target.name]: target.value };
    if (target.name === "unit") state = fitting(state);
    history.replaceState(null, "", toAddress(state));
    fill();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    if (!location.hash.startsWith("#compare")) return;
    state = fromAddress();
    fill();
  });
  section.querySelector(".links .svg").addEventListener("click", () => picture(section.querySelector(".chart"), "comparison"));
  section.querySelector(".links .pdf").addEventListener("click", () => printed(section.querySelector(".both")));
  section.querySelector(".csv").addEventListener("click", () => save(csv(), "comparison.csv", "text/csv"));
  fill();
}
if (data) setUp();
