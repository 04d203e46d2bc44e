// The form builder. `content` is the form as partners and files write it. Every change is saved as a draft after a moment;
// the answer says what is wrong with it, and the preview shows it as visitors will see it. Without this script the page
// shows the questions in words.

import { say } from "./toasts.js";

const root = document.getElementById("builder");
const list = document.getElementById("questions");
const state = document.getElementById("save-state");
const publish = document.getElementById("publish");
const vocabulary = JSON.parse(root.dataset.vocabulary);
const content = JSON.parse(root.dataset.content);
let faults = JSON.parse(root.dataset.faults);
let revision = Number(root.dataset.revision);
let opened = null; // the question that is open

content.settings ??= {};
const { fields } = content;
const HEADING = "section_break", BOXES = ["checkbox", "consent"], WITH_OPTIONS = ["select", "checkbox_group"];

// Elements: h("p", { className: "muted" }, "text", …). Attributes with a hyphen are set as attributes.
function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === false) continue;
    if (name.includes("-") || name === "for") made.setAttribute(name, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made[name] = value;
  }
  made.append(...children.filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

// Words.

const nameOf = (field) => field.label || field.key || "Question";
const byKey = (key) => fields.find((each) => each.key === key);
const optionsOf = (field) => (Array.isArray(field?.options) ? field.options : []).map((each) => (
  typeof each === "object" ? [each.value, each.label || each.value] : [each, each]));

function ruleText(field) {
  const rule = field.display_when;
  if (!rule) return "";
  const asked = byKey(rule.field_key);
  if (!asked) return "Shown if … (choose a question)";
  if (BOXES.includes(asked.type)) return `Shown if “${nameOf(asked)}” is ${isTicked(rule) ? "ticked" : "not ticked"}`;
  const words = `Shown if “${nameOf(asked)}” ${vocabulary.ops[rule.op] ?? rule.op}`;
  if (vocabulary.withoutValue.includes(rule.op)) return words;
  const labels = Object.fromEntries(optionsOf(asked));
  const values = (Array.isArray(rule.value) ? rule.value : [rule.value ?? ""]).map((each) => `“${labels[each] ?? each}”`);
  return `${words} ${values.join(" or ") || "…"}`;
}
const isTicked = (rule) => (rule.op === "equals") === [true, "true"].includes(rule.value);

// The internal name of a question follows its label until it has been published or named.
function keyFrom(text) {
  const plain = text.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "_").toLowerCase().replace(/^_+|_+$/g, "").slice(0, 60);
  return freeKey(plain || "question");
}
function freeKey(wanted) {
  const taken = new Set(fields.map((each) => each.key));
  let key = wanted;
  for (let number = 2; taken.has(key); number += 1) key = `${wanted}_${number}`;
  return key;
}
function rename(field, key) {
  for (const each of fields) if (each.display_when?.field_key === field.key) each.display_when.field_key = key;
  field.key = key;
}
const unnamed = new WeakSet(); // new questions, whose internal name follows the label

// Saving: one request at a time; what changes meanwhile is sent after it.

let timer = 0, saving = null, isDirty = false;
function changed() {
  isDirty = true;
  state.textContent = "Not saved yet";
  guard.dataset.unsaved = "";
  clearTimeout(timer);
  timer = setTimeout(save, 500);
  if (publish) publish.querySelector("button").disabled = false;
}
// The guard of unsaved.js asks before a page with such a form is left.
const guard = h("form", { method: "post", hidden: true });
root.append(guard);

async function save() {
  clearTimeout(timer);
  if (saving) return saving.then(() => (isDirty ? save() : undefined));
  if (!isDirty) return undefined;
  saving = send().finally(() => { saving = null; });
  return saving;
}

async function send() {
  isDirty = false;
  state.textContent = "Saving…";
  const page = new FormData(publish ?? document.querySelector(".nav-foot form"));
  const token = [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
  const body = new URLSearchParams({ csrf: page.get("csrf"), idempotency: token, revision, definition: JSON.stringify(content) });
  try {
    const response = await fetch(root.dataset.save, { method: "POST", body, headers: { Accept: "application/json" }, redirect: "manual" });
    const answer = await response.json().catch(() => ({ message: "Your session has ended. Sign in again in another tab." }));
    if (!response.ok) return fail(answer.message);
    revision = answer.revision;
    offer();
    showTrouble("");
    if (!isDirty) {
      state.textContent = `Draft saved ${answer.saved_at}`;
      delete guard.dataset.unsaved;
      showFaults(answer.faults);
      showPreview();
    }
  } catch {
    fail("The network is gone. What you typed stays here and is saved with your next change.");
  }
  return undefined;
}
function fail(message) {
  isDirty = true;
  state.textContent = "Not saved";
  showTrouble(message);
}
function showTrouble(message) {
  const place = document.getElementById("builder-trouble");
  place.textContent = message;
  place.hidden = !message;
}

publish?.querySelector("button").addEventListener("click", async (event) => {
  if (isDirty || saving) {
    event.preventDefault();
    await save();
    if (!isDirty) publish.querySelector("button").click();
  } else if (faults.length) {
    event.preventDefault();
    goTo(faults[0]);
  }
});

// Without a draft there is nothing to discard, nor to publish of a published form.
function offer() {
  document.getElementById("discard").hidden = !revision;
  if (!publish) return;
  publish.elements.revision.value = revision;
  publish.querySelector("button").disabled = !revision && root.dataset.status === "published";
}

// The preview: a fresh frame takes the place of the old one when it has loaded, scrolled as that was.

const place = document.getElementById("preview");
function showPreview() {
  const old = place.querySelector("iframe:not(.loading)");
  place.querySelector(".loading")?.remove();
  const fresh = h("iframe", { className: "loading", title: "Preview of the form", src: root.dataset.preview });
  fresh.addEventListener("load", () => {
    if (old) fresh.contentWindow.scrollTo(0, old.contentWindow.scrollY);
    old?.remove();
    fresh.classList.remove("loading");
  });
  place.append(fresh);
}

// Faults: beside what is wrong, and in a list that leads there.

function showFaults(found) {
  faults = found;
  const box = document.getElementById("builder-faults");
  box.hidden = !faults.length;
  box.querySelector("strong").textContent = faults.length === 1 ? "One thing to change before you publish" : `${faults.length} things to change before you publish`;
  box.querySelector("ul").replaceChildren(...faults.map((fault) => h("li", {},
    h("button", { type: "button", className: "link", onclick: () => goTo(fault) }, `${fault.where}: ${fault.text}`))));
  markFaults();
}
function goTo(fault) {
  if (fault.field === null) {
    choosePane(["title", "description"].includes(fault.member) ? "pane-questions" : "pane-settings");
    root.querySelector(`[data-bind="${CSS.escape(fault.member)}"]`)?.focus();
    return;
  }
  choosePane("pane-questions");
  open(fields[fault.field]);
  const card = cardOf(fields[fault.field]);
  (card?.querySelector(`[data-member="${CSS.escape(fault.member)}"] :is(input, select, textarea)`) ?? card?.querySelector("input"))?.focus();
}
function markFaults() {
  for (const each of root.querySelectorAll(".fault")) each.remove();
  for (const each of root.querySelectorAll(".has-fault")) each.classList.remove("has-fault");
  for (const each of root.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const fault of faults) {
    const card = fault.field === null ? null : cardOf(fields[fault.field]);
    card?.classList.add("has-fault");
    const slot = card ? card.querySelector(`[data-member="${CSS.escape(fault.member)}"]`)
      : root.querySelector(`[data-bind="${CSS.escape(fault.member)}"]`)?.closest(".field");
    if (!slot) continue;
    slot.classList.add("has-fault");
    slot.append(h("p", { className: "fault" }, fault.text));
    slot.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
  }
}

// The list of questions.

const cardOf = (field) => list.children[fields.indexOf(field)];

function draw(focus = null) {
  list.replaceChildren(...fields.map(card));
  document.getElementById("no-questions").hidden = fields.length > 0;
  markFaults();
  if (focus) focus();
}

function card(field, index) {
  const isOpen = field === opened;
  const tool = (what, label, sign, work, isOff = false) => h("button", {
    type: "button", className: "icon-button", disabled: isOff, "data-do": what, title: label, onclick: work,
  }, typeof sign === "string" ? h("span", { "aria-hidden": "true" }, sign) : sign);
  const item = h("li", { className: `question${isOpen ? " is-open" : ""}${field.type === HEADING ? " is-heading" : ""}` },
    h("div", { className: "question-head" },
      h("span", { className: "drag", "aria-hidden": "true", title: "Drag to move" }, "⠿"),
      h("button", { type: "button", className: "question-open", "aria-expanded": String(isOpen), onclick: () => open(isOpen ? null : field, true) }),
      h("div", { className: "question-tools" },
        tool("up", "Move up", "↑", () => move(field, -1, "up"), index === 0),
        tool("down", "Move down", "↓", () => move(field, 1, "down"), index === fields.length - 1),
        tool("copy", "Copy", document.getElementById("copy-icon").content.cloneNode(true), () => copy(field)),
        tool("remove", "Remove", "×", () => remove(field)))),
    isOpen ? h("div", { className: "question-body" }, ...settingsOf(field)) : null);
  item.classList.toggle("new-page", startsPage(index));
  head(item, field);
  return item;
}

// What a closed question says: its name, type and rule; its name is also in those of its buttons.
function head(item, field) {
  for (const tool of item.querySelectorAll("[data-do]")) tool.setAttribute("aria-label", `${tool.title} “${nameOf(field)}”`);
  const details = [vocabulary.types[field.type]?.[0] ?? field.type, field.required ? "required" : ""].filter(Boolean).join(" · ");
  item.querySelector(".question-open").replaceChildren(
    h("strong", {}, nameOf(field)), h("small", {}, details),
    ...(field.display_when ? [h("small", { className: "rule" }, ruleText(field))] : []));
}
const heads = () => fields.forEach((field, index) => head(list.children[index], field));

function open(field, isByPerson = false) {
  opened = field;
  draw();
  const shown = field && cardOf(field);
  if (shown && !isByPerson) shown.scrollIntoView({ block: "nearest" });
  if (shown && isByPerson) shown.querySelector(".question-open").focus();
}
function move(field, by, button) {
  const from = fields.indexOf(field);
  relocate(from, from + by);
  draw(() => {
    const tools = cardOf(field).querySelector(".question-tools");
    (tools.querySelector(`[data-do="${button}"]:not(:disabled)`) ?? tools.querySelector("button:not(:disabled)")).focus();
  });
  document.getElementById("moved").textContent = `“${nameOf(field)}” is number ${fields.indexOf(field) + 1} of ${fields.length}.`;
}
// A question that moves belongs to the page of its new neighbour.
function relocate(from, to) {
  const [field] = fields.splice(from, 1);
  fields.splice(to, 0, field);
  const page = pageOf(fields[to - 1] ?? fields[to + 1]);
  if (pageOf(field) !== page) setPage(field, page);
  tidyPages();
  changed();
}
function copy(field) {
  const made = structuredClone(field);
  made.key = freeKey(field.key);
  fields.splice(fields.indexOf(field) + 1, 0, made);
  changed();
  open(made, true);
}
function remove(field) {
  const index = fields.indexOf(field), kept = structuredClone(fields);
  fields.splice(index, 1);
  if (opened === field) opened = null;
  tidyPages();
  changed();
  draw(() => (list.children[Math.min(index, fields.length - 1)]?.querySelector(".question-open") ?? document.querySelector("#add-question summary")).focus());
  say(`Removed “${nameOf(field)}”.`);
  const undo = h("button", { type: "button", className: "button small quiet", onclick: () => {
    fields.splice(0, fields.length, ...kept);
    opened = null;
    changed();
    draw(() => list.children[index]?.querySelector(".question-open").focus());
    undo.closest(".toast").remove();
  } }, "Undo");
  document.querySelector("#toasts .toast:last-child, dialog .toast:last-child")?.append(undo);
}
function add(type) {
  if (fields.length >= vocabulary.maxFields) return say(`A form has at most ${vocabulary.maxFields} questions.`);
  const field = { key: freeKey("question"), label: "", type };
  if (WITH_OPTIONS.includes(type)) field.options = ["Option 1", "Option 2"];
  if (["consent", "signature"].includes(type)) field.required = true;
  field.label = vocabulary.types[type][0];
  rename(field, keyFrom(field.label));
  const page = pageOf(fields.at(-1));
  if (page) field.step_index = page;
  fields.push(field);
  unnamed.add(field);
  document.getElementById("add-question").open = false;
  changed();
  open(field);
  const label = cardOf(field).querySelector("[data-member=label] :is(input, textarea)");
  label.focus();
  label.select();
  return undefined;
}

// Pages: step_index as partners know it. A question can begin a new page; those after it come along.

const pageOf = (field) => (Number.isInteger(field?.step_index) ? field.step_index : 0);
const startsPage = (index) => index > 0 && pageOf(fields[index]) !== pageOf(fields[index - 1]);
function setPage(field, page) {
  if (page) field.step_index = page;
  else delete field.step_index;
}
function tidyPages() {
  let page = 0, before = pageOf(fields[0]);
  for (const field of fields) {
    if (pageOf(field) !== before) page += 1;
    before = pageOf(field);
    setPage(field, page);
    delete field.order; // the order of the list counts
  }
}
function beginPage(index, isNew) {
  for (const field of fields.slice(index)) setPage(field, pageOf(field) + (isNew ? 1 : -1));
  tidyPages();
}

// The settings of a question.

let numbers = 0;
function labelled(member, label, input, help = "") {
  numbers += 1;
  input.id = `q-${numbers}`;
  const isCheck = input.type === "checkbox";
  const words = h("label", { htmlFor: input.id }, label);
  return h("div", { className: `field${isCheck ? " check" : ""}`, "data-member": member }, ...(isCheck ? [input, words] : [words, input]), help && h("p", { className: "help" }, help));
}
function put(field, member, value) {
  if (value === undefined || value === "" || value === false) delete field[member];
  else field[member] = value;
  heads();
  changed();
}
const asNumber = (text) => (text.trim() === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text);

const EDITORS = {
  text: (field, name) => h("input", { value: field[name] ?? "", oninput: (event) => put(field, name, event.target.value) }),
  textarea: (field, name) => h("textarea", { rows: 3, value: field[name] ?? "", oninput: (event) => put(field, name, event.target.value) }),
  number: (field, name) => h("input", { type: "number", step: "any", value: field[name] ?? "", oninput: (event) => put(field, name, asNumber(event.target.value)) }),
  check: (field, name) => h("input", { type: "checkbox", checked: field[name] === true, onchange: (event) => put(field, name, event.target.checked) }),
  buttons: (field, name) => h("input", { type: "checkbox", checked: field[name] === "buttons", onchange: (event) => put(field, name, event.target.checked && "buttons") }),
  megabytes: (field, name) => h("input", { type: "number", min: 1, step: "any", placeholder: "10", value: field[name] ? field[name] / 1048576 : "",
    oninput: (event) => put(field, name, asNumber(event.target.value) && Math.round(asNumber(event.target.value) * 1048576)) }),
  // An option keeps its value while its label stays the same.
  options: (field, name) => h("textarea", { rows: Math.min(Math.max(optionsOf(field).length + 1, 3), 10), value: optionsOf(field).map(([, label]) => label).join("\n"), oninput: (event) => {
    const known = new Map(optionsOf(field).filter(([value, label]) => value !== label).map(([value, label]) => [label, value]));
    const lines = [...new Set(event.target.value.split("\n").map((line) => line.trim()).filter(Boolean))];
    put(field, name, lines.map((line) => (known.has(line) ? { value: known.get(line), label: line } : line)));
  } }),
};

function settingsOf(field) {
  const index = fields.indexOf(field), isHeading = field.type === HEADING;
  const label = h("input", { value: field.label ?? "", oninput: (event) => {
    if (unnamed.has(field)) { field.key = ""; rename(field, keyFrom(event.target.value)); }
    put(field, "label", event.target.value || undefined);
    field.label ??= "";
  } });
  const own = (vocabulary.settingsOf[field.type] ?? []).map(([name, words, kind]) => labelled(name, words, EDITORS[kind](field, name)));
  const isPaired = (name) => own.length > 1 && ["number", "rating"].includes(name);
  const page = h("input", { type: "checkbox", checked: startsPage(index), onchange: (event) => {
    beginPage(index, event.target.checked);
    cardOf(field).classList.toggle("new-page", startsPage(index));
    changed();
  } });
  return [
    labelled("label", isHeading ? "Heading" : "Question", label),
    labelled("help_text", isHeading ? "Text below it" : "Help below the question", EDITORS.text(field, "help_text")),
    ...(isPaired(field.type) ? [h("div", { className: "pair" }, ...own)] : own),
    isHeading ? null : labelled("required", "Required", EDITORS.check(field, "required")),
    index > 0 ? labelled("step_index", "Begin a new page here", page) : null,
    ruleEditor(field),
    isHeading ? null : technical(field),
  ];
}
function technical(field) {
  const key = h("input", { value: field.key, spellcheck: false, maxLength: 100, onchange: (event) => {
    unnamed.delete(field);
    rename(field, event.target.value.trim());
    heads();
    changed();
  } });
  return h("details", {}, h("summary", { className: "muted small" }, "For partners"),
    labelled("key", "Internal name", key, "Partners and exports know the answer by it. Answers that exist keep the old one."));
}

// A rule as a sentence: Show this question / always / if … is ….

function ruleEditor(field) {
  const slot = h("div", { className: "field", "data-member": "display_when" }, h("span", { className: "label" }, "Show this question"));
  const askable = fields.filter((each) => each !== field && each.type !== HEADING);
  const rule = field.display_when, asked = rule && byKey(rule.field_key);
  const redraw = (name) => {
    const next = ruleEditor(field);
    slot.replaceWith(next);
    next.querySelector(`[aria-label="${name}"]`)?.focus();
    heads();
    changed();
  };
  const choose = (name, options, value, work) => h("select", { "aria-label": name, onchange: (event) => { work(event.target.value); redraw(name); } },
    ...options.map(([each, words]) => h("option", { value: each, selected: each === value }, words)));
  const line = h("div", { className: "rule-editor" });
  line.append(choose("When it is shown", [["", "always"], ...askable.map((each) => [each.key, `if “${nameOf(each)}”`])], rule?.field_key ?? "", (key) => {
    if (key) field.display_when = firstRule(byKey(key));
    else delete field.display_when;
  }));
  if (asked) line.append(...comparison(rule, asked, choose));
  slot.append(line);
  return slot;
}
function firstRule(asked) {
  const value = BOXES.includes(asked.type) ? "true" : optionsOf(asked)[0]?.[0];
  const op = value === undefined ? "is_not_empty" : vocabulary.opsOf[asked.type][0];
  return vocabulary.withoutValue.includes(op) ? { field_key: asked.key, op } : { field_key: asked.key, op, value };
}
function comparison(rule, asked, choose) {
  if (BOXES.includes(asked.type)) {
    const set = (value) => Object.assign(rule, { op: value === "yes" ? "equals" : "not_equals", value: "true" });
    return [choose("Condition", [["yes", "is ticked"], ["no", "is not ticked"]], isTicked(rule) ? "yes" : "no", set)];
  }
  const ops = vocabulary.opsOf[asked.type].map((op) => [op, vocabulary.ops[op]]);
  if (!ops.some(([op]) => op === rule.op)) ops.push([rule.op, vocabulary.ops[rule.op] ?? rule.op]);
  const isList = (op) => ["in", "not_in"].includes(op);
  const parts = [choose("Condition", ops, rule.op, (op) => {
    const one = Array.isArray(rule.value) ? rule.value[0] : rule.value;
    rule.op = op;
    if (vocabulary.withoutValue.includes(op)) delete rule.value;
    else rule.value = isList(op) ? [one ?? optionsOf(asked)[0]?.[0] ?? ""].flat() : one ?? optionsOf(asked)[0]?.[0] ?? "";
  })];
  if (vocabulary.withoutValue.includes(rule.op)) return parts;
  if (isList(rule.op) && WITH_OPTIONS.includes(asked.type)) parts.push(several(rule, asked));
  else if (WITH_OPTIONS.includes(asked.type)) parts.push(choose("Answer", optionsOf(asked), String([rule.value].flat()[0]), (value) => { rule.value = value; }));
  else {
    const type = { number: "number", rating: "number", date: "date" }[asked.type] ?? "text";
    parts.push(h("input", { type, "aria-label": "Answer", value: [rule.value ?? ""].flat().join(", "), oninput: (event) => { rule.value = event.target.value; heads(); changed(); } }));
  }
  return parts;
}
function several(rule, asked) {
  const values = [rule.value].flat();
  return h("fieldset", {}, h("legend", { className: "visually-hidden" }, "Answers"), ...optionsOf(asked).map(([value, label]) => h("label", {},
    h("input", { type: "checkbox", checked: values.includes(value), onchange: (event) => {
      rule.value = event.target.checked ? [...[rule.value].flat(), value] : [rule.value].flat().filter((each) => each !== value);
      heads();
      changed();
    } }), label)));
}

// The settings of the form. Instants are typed as times of the studio.

function offset(instant) {
  const shown = Object.fromEntries(new Intl.DateTimeFormat("en", { timeZone: root.dataset.zone, hourCycle: "h23", year: "numeric", month: "numeric",
    day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" }).formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second) - Math.floor(instant / 1000) * 1000;
}
const localTime = (text) => { const at = Date.parse(text); return Number.isNaN(at) ? "" : new Date(at + offset(at)).toISOString().slice(0, 16); };
function instantOf(text) {
  const local = Date.parse(`${text}Z`);
  if (Number.isNaN(local)) return undefined;
  const guess = local - offset(local);
  return new Date(local - offset(guess)).toISOString();
}
const READ = {
  text: (text) => text, textarea: (text) => text, url: (text) => text.trim(), number: asNumber, instant: instantOf,
  lines: (text) => { const lines = text.split("\n").map((line) => line.trim()).filter(Boolean); return lines.length ? lines : undefined; },
};
for (const input of root.querySelectorAll("[data-bind]")) {
  const name = input.dataset.bind, isTop = ["title", "slug", "description"].includes(name), owner = isTop ? content : content.settings;
  if (input.type === "checkbox") input.checked = name === "allow_multiple" ? owner[name] !== false : owner[name] === true;
  else if (input.dataset.kind === "instant") input.value = owner[name] ? localTime(owner[name]) : "";
  else input.value = Array.isArray(owner[name]) ? owner[name].join("\n") : owner[name] ?? "";
  input.addEventListener("input", () => {
    const value = input.type === "checkbox" ? input.checked : READ[input.dataset.kind ?? "text"](input.value);
    if (isTop) content[name] = name === "description" && !value ? null : value;
    else if (value === undefined || value === "") delete owner[name];
    else owner[name] = value;
    changed();
  });
}

function choosePane(id) {
  for (const button of root.querySelectorAll("[data-pane]")) {
    const isChosen = button.dataset.pane === id;
    if (isChosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    const pane = document.getElementById(button.dataset.pane);
    if (pane.id === "pane-preview") pane.classList.toggle("is-chosen", isChosen);
    else pane.hidden = !isChosen;
  }
}
root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-pane]");
  if (button) choosePane(button.dataset.pane);
});

document.getElementById("types").append(...Object.entries(vocabulary.types).map(([type, [name, text]]) => (
  h("button", { type: "button", "data-type": type, onclick: () => add(type) }, h("strong", {}, name), h("small", {}, text)))));
Sortable.create(list, { handle: ".drag", animation: 120, onEnd: ({ oldIndex, newIndex }) => {
  if (oldIndex === newIndex) return;
  relocate(oldIndex, newIndex);
  draw();
} });
root.hidden = false;
offer();
draw();
showFaults(faults);
showPreview();
