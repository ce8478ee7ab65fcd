// Tables sort by a click on a head and filter by text; without this script they are plain tables.
"use strict";
const collator = new Intl.Collator("en", { numeric: true });

// Cells with a value sort by value and come first; other cells sort as text.
function compare(a, b) {
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
      const order = (a, b) => empty(a) - empty(b) || turn * compare(a.cells[column], b.cells[column]);
      body.append(...(next ? rows.toSorted(order) : rows));
    });
  });
}

function filterable(box) {
  const rows = [...box.querySelectorAll("tbody tr")];
  if (rows.length < 6) return;
  const [label, input, output] = ["label", "input", "output"].map((name) => document.createElement(name));
  input.type = "search";
  input.placeholder = "all words must match";
  label.append("Filter", input);
  box.querySelector(".bar").append(output, label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const shown = rows.filter((row) => !row.hidden).length;
    output.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
  });
}

document.querySelectorAll("table").forEach(sortable);
document.querySelectorAll(".table").forEach(filterable);
