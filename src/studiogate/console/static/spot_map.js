// The editor of a room's spots: a grid in front of the text that the form sends. Each cell of the grid is a button. A
// click or Enter puts a spot on an empty place and chooses one that is there; arrow keys go on, Shift and an arrow key
// move a spot, Delete removes it.

const form = document.querySelector("form[data-spot-map]");
const area = form?.elements.spots;
const used = form ? JSON.parse(form.dataset.used) : {};
const maxSide = Number(form?.dataset.maxSide), maxSpots = Number(form?.dataset.maxSpots);
const LEAST_COLUMNS = 8, LEAST_ROWS = 4;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The text: labels between commas, quoted as in a CSV file where they need it.

function parse(text) {
  return text.split("\n").map((line) => {
    const labels = [];
    for (const [, quoted, plain] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g)) {
      labels.push((quoted?.replaceAll('""', '"') ?? plain ?? "").trim());
    }
    return labels;
  });
}

const quote = (label) => (/[",]/.test(label) ? `"${label.replaceAll('"', '""')}"` : label);

// The spots by their places, such as "3,0": column and row.

const spots = new Map();
const key = (x, y) => `${x},${y}`;
const place = (name) => name.split(",").map(Number);

function read() {
  spots.clear();
  parse(area.value).forEach((row, y) => row.forEach((label, x) => { if (label) spots.set(key(x, y), label); }));
}

function extent() {
  let columns = 0, rows = 0;
  for (const name of spots.keys()) {
    const [x, y] = place(name);
    columns = Math.max(columns, x + 1);
    rows = Math.max(rows, y + 1);
  }
  return { columns, rows };
}

function write() {
  const { columns, rows } = extent();
  const lines = [];
  for (let y = 0; y < rows; y += 1) {
    const line = [];
    for (let x = 0; x < columns; x += 1) line.push(quote(spots.get(key(x, y)) ?? ""));
    lines.push(line.join(",").replace(/,+$/, ""));
  }
  area.value = lines.join("\n");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

// Labels.

const labels = () => new Set(spots.values());

function letters(row) {
  return (row >= 26 ? String.fromCharCode(64 + Math.floor(row / 26)) : "") + String.fromCharCode(65 + (row % 26));
}

// The next free label of a row: A1, A2, …; or of the room: 1, 2, …, in front of them the word of the field.
function nextLabel(y) {
  const taken = labels(), word = prefix.value.trim();
  const start = naming.value === "rows" ? letters(y) : word && `${word} `;
  for (let number = 1; ; number += 1) if (!taken.has(start + number)) return start + number;
}

// The last words of the labels, where all of them begin alike: the others do not fit into a cell.
function shortened() {
  const all = [...spots.values()], first = all[0] ?? "", end = first.lastIndexOf(" ") + 1;
  const same = end > 0 && all.every((each) => each.startsWith(first.slice(0, end)) && each.length > end);
  return same ? (label) => label.slice(end) : (label) => label;
}

// The page.

let at = [0, 0];
let moving = null;
let grid, status, panel, labelField, naming, prefix;

function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

function button(text, work, kind = "") {
  const made = element("button", { type: "button", class: `button ${kind}`.trim() }, text);
  made.addEventListener("click", work);
  return made;
}

function labelled(text, field) {
  return element("label", { class: "field" }, element("span", { class: "label" }, text), field);
}

function say(text) { status.textContent = text; }

const bookings = (label) => (used[label] ? `${used[label]} ${used[label] === 1 ? "booking" : "bookings"} to come` : "past bookings");

function draw({ focus = false } = {}) {
  const { columns, rows } = extent();
  const width = Math.min(maxSide, Math.max(LEAST_COLUMNS, columns + 1, at[0] + 1));
  const height = Math.min(maxSide, Math.max(LEAST_ROWS, rows + 1, at[1] + 1));
  const short = shortened();
  const body = element("tbody");
  for (let y = 0; y < height; y += 1) {
    const row = element("tr", { role: "row" });
    for (let x = 0; x < width; x += 1) {
      const label = spots.get(key(x, y)), here = x === at[0] && y === at[1];
      const where = `row ${y + 1}, place ${x + 1}`;
      const cell = element("button", {
        type: "button",
        tabindex: here ? 0 : -1,
        "data-place": key(x, y),
        "aria-label": label ? `${label}, ${where}${label in used ? `, ${bookings(label)}` : ""}` : `Empty, ${where}`,
      }, label ? short(label) : "");
      if (label) cell.title = label;
      cell.className = ["cell", label && "taken", label && label in used && "used", moving === key(x, y) && "moving"].filter(Boolean).join(" ");
      row.append(element("td", { role: "gridcell", "aria-selected": String(here) }, cell));
    }
    body.append(row);
  }
  grid.replaceChildren(body);
  drawPanel();
  if (focus) current()?.focus();
}

// A screen reader, or a click, may go to any cell. The cells stay: the one that is being clicked must not be replaced.
function choose(cell) {
  if (cell.dataset.place === key(...at)) return;
  const before = current();
  before?.setAttribute("tabindex", -1);
  before?.parentElement.setAttribute("aria-selected", "false");
  at = place(cell.dataset.place);
  cell.setAttribute("tabindex", 0);
  cell.parentElement.setAttribute("aria-selected", "true");
  drawPanel();
}

const current = () => grid.querySelector(`[data-place="${key(...at)}"]`);

function drawPanel() {
  const label = spots.get(key(...at));
  panel.hidden = label === undefined;
  labelField.value = label ?? "";
  labelField.setCustomValidity("");
  const count = document.querySelector("[data-spot-count]");
  const capacity = Number(form.dataset.capacity);
  count.textContent = `${spots.size} ${spots.size === 1 ? "spot" : "spots"}${spots.size > capacity ? `, and the room holds only ${capacity} people` : ""}`;
  panel.querySelector("[data-in-use]").textContent = label in used ? `It has ${bookings(label)}: it can be moved, but neither removed nor renamed.` : "";
}

function changed(text, options = { focus: true }) {
  write();
  draw(options);
  say(text);
}

function put(x, y) {
  if (spots.size >= maxSpots) return say(`A room has at most ${maxSpots} spots.`);
  const label = nextLabel(y);
  spots.set(key(x, y), label);
  return changed(`Placed ${label}.`);
}

function move(from, to) {
  const label = spots.get(from), other = spots.get(to);
  const [x, y] = place(to);
  if (!label || from === to || x < 0 || y < 0 || x >= maxSide || y >= maxSide) return;
  spots.delete(from);
  spots.set(to, label);
  if (other) spots.set(from, other);
  at = [x, y];
  changed(other ? `${label} and ${other} changed places.` : `Moved ${label}.`);
}

function remove() {
  const label = spots.get(key(...at));
  if (label === undefined) return;
  if (label in used) return say(`${label} has ${bookings(label)}. It can be moved, not removed.`);
  spots.delete(key(...at));
  changed(`Removed ${label}.`);
}

function press(x, y) {
  at = [x, y];
  if (moving) {
    const from = moving;
    moving = null;
    if (from === key(x, y)) draw({ focus: true });
    else move(from, key(x, y));
  } else if (spots.has(key(x, y))) draw({ focus: true });
  else put(x, y);
}

function rename() {
  const here = key(...at), before = spots.get(here), label = labelField.value.trim();
  if (before === undefined || label === before) return;
  const isTaken = label && labels().has(label);
  const problem = !label ? "A spot needs a label." : isTaken ? `${label} is another spot of the room.` : before in used ? `${before} has ${bookings(before)}, so it keeps its label.` : "";
  labelField.setCustomValidity(problem);
  if (problem) {
    labelField.reportValidity();
    return;
  }
  spots.set(here, label);
  changed(`${before} is ${label} now.`, {});
}

// Rows and columns that are still empty get spots; those that are there stay.
function fill(rows, columns) {
  let placed = 0;
  for (let y = 0; y < Math.min(rows, maxSide); y += 1) {
    for (let x = 0; x < Math.min(columns, maxSide); x += 1) {
      if (spots.has(key(x, y)) || spots.size >= maxSpots) continue;
      spots.set(key(x, y), nextLabel(y));
      placed += 1;
    }
  }
  at = [0, 0];
  changed(`Placed ${placed} ${placed === 1 ? "spot" : "spots"}.`, {});
}

function clear() {
  for (const [name, label] of spots) if (!(label in used)) spots.delete(name);
  at = [0, 0];
  changed(spots.size ? "Removed all spots that have no bookings." : "Removed all spots.", {});
}

function onKey(event) {
  const step = ARROWS[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (step) {
    const to = [at[0] + step[0], at[1] + step[1]].map((each) => Math.min(maxSide - 1, Math.max(0, each)));
    if (event.shiftKey) move(key(...at), key(...to));
    else { at = to; draw({ focus: true }); }
  } else if (event.key === "Delete" || event.key === "Backspace") remove();
  else if (event.key === "Escape" && moving) { moving = null; draw({ focus: true }); }
  else if (event.key === "Enter" && spots.has(key(...at)) && !moving) labelField.select();
  else return;
  event.preventDefault();
}

// A mouse drags a spot to another place; a finger scrolls, and uses "Move".
function onDrag(event) {
  const from = event.target.closest?.(".cell.taken")?.dataset.place;
  if (!from || event.pointerType !== "mouse" || event.button !== 0) return;
  document.addEventListener("pointerup", (end) => {
    const to = document.elementFromPoint(end.clientX, end.clientY)?.closest(".cell")?.dataset.place;
    if (to && to !== from) move(from, to);
  }, { once: true });
}

function build() {
  grid = element("table", { role: "grid", class: "spot-grid", "aria-label": "Places of the room, the front row first" });
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (cell) press(...place(cell.dataset.place));
  });
  grid.addEventListener("keydown", onKey);
  grid.addEventListener("focusin", (event) => choose(event.target.closest(".cell")));
  grid.addEventListener("pointerdown", onDrag);
  status = element("p", { role: "status", class: "muted small" });
  labelField = element("input", { type: "text", maxlength: 200, autocomplete: "off", id: "spot-label" });
  labelField.addEventListener("change", rename);
  labelField.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    rename();
    current()?.focus();
  });
  panel = element("div", { class: "map-panel" }, labelled("Label", labelField),
    element("p", { class: "actions" },
      button("Move", () => { moving = key(...at); draw({ focus: true }); say("Choose the place where it goes."); }),
      button("Remove", remove, "danger")),
    element("p", { class: "muted small", "data-in-use": "" }));
  const size = (name, value) => element("input", { type: "number", min: 1, max: maxSide, value, "data-size": name });
  const rows = size("rows", 4), columns = size("columns", 6);
  naming = element("select", {}, element("option", { value: "rows" }, "A1, A2 … B1"), element("option", { value: "numbers" }, "1, 2, 3 …"));
  prefix = element("input", { type: "text", maxlength: 40, placeholder: "Mat", autocomplete: "off" });
  const word = labelled("Word before the number", prefix);
  const show = () => { word.hidden = naming.value === "rows"; };
  naming.addEventListener("change", show);
  show();
  const tools = element("div", { class: "map-tools" }, labelled("Rows", rows), labelled("Columns", columns), labelled("Labels", naming), word,
    button("Fill", () => fill(Number(rows.value), Number(columns.value))), button("Clear", clear, "quiet"));
  const front = element("p", { class: "map-front muted small" }, "Front of the room");
  const help = element("p", { class: "muted small" }, "Click or Enter: place a spot, or change the one there. Arrow keys: go on; with Shift: move the spot. Delete: remove it.");
  return [tools, element("div", { class: "map-body" }, element("div", { class: "map-scroll" }, front, grid), panel), element("p", { class: "small", "data-spot-count": "" }), status, help];
}

if (form) {
  const editor = form.querySelector("[data-map-editor]");
  editor.append(...build());
  editor.hidden = false;
  form.querySelector("[data-map-text]").classList.add("visually-hidden");
  area.tabIndex = -1;
  area.setAttribute("aria-hidden", "true");
  read();
  // A room whose spots have a word and a number, such as Bike 7, goes on with them.
  const word = [...spots.values()].every((each) => /^.+ \d+$/.test(each)) && [...spots.values()][0]?.replace(/ \d+$/, "");
  if (word) { naming.value = "numbers"; prefix.value = word; naming.dispatchEvent(new Event("change")); }
  draw();
}
