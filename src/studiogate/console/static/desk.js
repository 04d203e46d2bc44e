// Today and Class: check in by one key or tap, open classes beside the list, show at once what others do.
// Without this file every button is a plain form and every class a link.

import { openDrawer } from "./drawers.js";
import { follow } from "./live.js";
import { controlAt, placeOf, replaceParts } from "./parts.js";

const REFRESH_MILLISECONDS = 150;
const TRIES = 4;
const desk = document.querySelector("[data-desk]");
const isPhone = window.matchMedia("(max-width: 48rem)");
const asPart = { "HX-Request": "true" };
const GONE = '<div class="notice danger" role="alert">The network is gone. Press again when it is back.</div>';

const byId = (id) => document.getElementById(id);
const rows = () => [...document.querySelectorAll("#roster > .seat:not([hidden])")];

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// The selected row. It is the one that keys act on; it survives the replacement of the roster.

let selected = "";

function select(row, { focus = true } = {}) {
  document.querySelector(".seat.is-selected")?.classList.remove("is-selected");
  selected = row?.id ?? "";
  if (!row) return;
  row.classList.add("is-selected");
  if (focus) row.focus({ preventScroll: false });
}

// Somebody who has left the class, or does not match what is typed any more, is not selected; nobody else is instead.
function reselect() {
  if (selected) select(rows().find((row) => row.id === selected), { focus: false });
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.id === selected);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
  select(all[next]);
}

// The ids of rows whose mark is being saved, and when the last mark of each row was saved.
const marking = new Set();
const markedAt = new Map();

// Neither marked nor being marked.
const isOpen = (row) => row.dataset.status === "confirmed" && !marking.has(row.id);

function nextOpen(row) {
  const all = rows();
  const at = all.indexOf(row);
  return all.slice(at + 1).find(isOpen) ?? all.slice(0, Math.max(0, at)).find(isOpen);
}

// Marking: the form of a row is sent in the background, and the row is replaced by the answer.

// While the service is busy it says when to ask again. The form has a token, so it takes effect once.
async function answerOf(send) {
  let answer = await send();
  for (let tries = 1; answer.status === 503 && tries < TRIES; tries += 1) {
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
    answer = await send();
  }
  return answer;
}

async function sent(form, given) {
  const body = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(given)) body.set(name, value);
  const answer = await answerOf(() => fetch(form.action, { method: "POST", body, headers: asPart }));
  if (answer.status === 401) sendPlainly(form, given);
  if (answer.headers.has("hx-refresh")) location.reload();
  return answer;
}

// The session has ended: a plain form leads to the page to sign in, which then sends it.
function sendPlainly(form, given) {
  for (const [name, value] of Object.entries(given)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  form.submit();
}

async function mark(form, value) {
  const row = form.closest(".seat");
  if (marking.has(row.id)) return;
  marking.add(row.id);
  row.dataset.busy = "";
  // Who finds people by name looks at the field, not at the row, which may be out of sight.
  const field = document.activeElement?.matches("[data-find]") && document.activeElement;
  try {
    const answer = await sent(form, { mark: value });
    const html = await answer.text(), content = parsed(html);
    if (content.querySelector("[data-done]")) replaceRow(row, content);
    else if (answer.headers.get("x-refusal") === "check_in_stopped") stop(row, field);
    else refuse(form, html);
  } catch {
    refuse(form, GONE);
  } finally {
    delete row.dataset.busy;
    marking.delete(row.id);
    markedAt.set(row.id, performance.now());
  }
}

// Something has to be settled first: a drawer over the roster says what, for the person who is selected again.
function stop(row, field) {
  say(`${row.dataset.name}: something is open before the check-in.`);
  select(byId(row.id), { focus: !field });
  openDrawer(`${row.querySelector("[data-mark]").action.replace(/attendance$/, "check-in")}`);
}

function replaceRow(row, content) {
  const fresh = content.querySelector(".seat");
  const counts = content.querySelector("#counts");
  const current = byId(row.id);
  if (!current) return; // another class has been opened since
  if (fresh) {
    const place = current.contains(document.activeElement) ? placeOf(document.activeElement) : null;
    fresh.hidden = current.hidden;
    current.replaceWith(fresh);
    reselect();
    if (place) (controlAt(place) ?? fresh).focus({ preventScroll: true });
  }
  if (counts) byId("counts")?.replaceWith(counts);
  say(content.querySelector("[data-done]").textContent);
}

// Show a text in a live region of the field; a text that is there already is not read aloud again.
function show(region, text) {
  const shown = document.querySelector(region);
  if (shown && shown.textContent !== text) shown.textContent = text;
}

const say = (text) => show("[data-marked]", text);

function refuse(form, html) {
  const slot = form.querySelector("[data-refusal]");
  if (slot) slot.replaceChildren(parsed(html));
}

async function promote(form) {
  if (form.dataset.busy !== undefined) return;
  form.dataset.busy = "";
  try {
    const answer = await sent(form, {});
    if (answer.ok) {
      await refresh();
      say(`${form.closest("[data-name]").dataset.name} is promoted.`);
    } else refuse(form, await answer.text());
  } catch {
    refuse(form, GONE);
  } finally {
    delete form.dataset.busy;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  const send = form.matches("[data-mark]") ? mark : form.matches("[data-promote]") ? promote : null;
  if (!send) return;
  event.preventDefault();
  event.stopPropagation();
  if (pressedTwice) say(`${form.closest("[data-name]").dataset.name} is marked already.`);
  else send(form, event.submitter?.value);
}, { capture: true });

// The second click of a double click must not take back what the first one did.
let pressedTwice = false;
document.addEventListener("click", (event) => { pressedTwice = event.detail > 1; }, { capture: true });

// Keys send a mark also where there is no button for it: the answer says why it is not possible.
function press(row, value) {
  const form = row?.querySelector("[data-mark]");
  if (!form) say("Choose a person with the arrow keys first.");
  else if (!marking.has(row.id)) mark(form, value);
}

const STATES = { checked_in: "checked in", no_show: "marked as no-show", confirmed: "not marked yet" };
const already = (row) => say(`${row.dataset.name} is ${STATES[row.dataset.status]}.`);

function markAbsent(row) {
  if (row && row.dataset.status !== "confirmed") already(row);
  else press(row, "no_show");
}

// Whoever was marked as absent by mistake was here.
function undo(row) {
  if (row?.dataset.status === "confirmed") already(row);
  else press(row, row?.dataset.status === "no_show" ? "checked_in" : "confirmed");
}

// Check in the row and go on to the next person; a row that is done only leads on.
function checkIn(row, options) {
  if (!row) return;
  if (isOpen(row)) press(row, "checked_in");
  else if (!marking.has(row.id)) already(row);
  const next = nextOpen(row);
  if (next) select(next, options);
}

// Finding in the class: rows that do not match are hidden.

// Names are typed without accents, too.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase();

function filter(text) {
  const words = plain(text).split(/\s+/).filter(Boolean);
  for (const row of document.querySelectorAll("#roster > .seat")) {
    const shown = plain(row.querySelector(".seat-text").textContent);
    row.hidden = !words.every((word) => shown.includes(word));
  }
  show("[data-nobody]", words.length && !rows().length ? `Nobody in this list matches “${text.trim()}”.` : "");
}

function find(text) {
  filter(text);
  say("");
  select(rows().find(isOpen) ?? rows()[0], { focus: false });
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-find]")) find(event.target.value);
});

// Keys. Not while somebody types, and not while a drawer is open.

const isTyping = (target) => target.matches("input, textarea, select, [contenteditable]");
const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

function findKey(event) {
  const field = event.target;
  if (event.key === "Enter") {
    event.preventDefault();
    if (!selected) return;
    checkIn(byId(selected), { focus: false });
    field.value = "";
    find("");
  } else if (event.key === "ArrowDown") {
    event.preventDefault();
    select(byId(selected) ?? rows()[0]);
  } else if (event.key === "Escape") {
    field.value = "";
    find("");
    field.blur();
  }
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => checkIn(byId(selected)),
  n: () => markAbsent(byId(selected)),
  u: () => undo(byId(selected)),
  w: () => { const link = document.querySelector("[data-walk-in]"); if (link) openDrawer(link.href); },
  "/": () => byId("find")?.focus(),
  ArrowLeft: () => document.querySelector("[data-class-link][aria-label$=before]")?.click(),
  ArrowRight: () => document.querySelector("[data-class-link][aria-label$=after]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (!isPlain(event) || document.querySelector("dialog[open]")) return;
  // A key that is held down must not check in one person after another.
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  if (event.target.matches("[data-find]")) { findKey(event); return; }
  if (isTyping(event.target)) return;
  // Enter on a link or a button does what that does.
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || (event.key === "Enter" && !selected)) return;
  event.preventDefault();
  act();
});

document.addEventListener("focusin", (event) => {
  const row = event.target.closest(".seat");
  if (row && row.id !== selected) select(row, { focus: false });
});
document.addEventListener("click", (event) => {
  const row = event.target.closest(".seat");
  if (row && !event.target.closest("a, button")) select(row);
});

// Reading the page again, and opening a class beside the list.

let loading = null;
let opening = 0;
let due = 0;

async function load(url) {
  loading?.abort();
  const own = (loading = new AbortController());
  const answer = await fetch(url, { headers: asPart, signal: own.signal });
  // The session has ended: the page stays, with what is being typed. The next form asks to sign in.
  if (answer.status === 401 || answer.redirected) return null;
  return answer.ok ? parsed(await answer.text()) : null;
}

let isPressing = false;
document.addEventListener("pointerdown", () => { isPressing = true; });
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { isPressing = false; });

// Focus the control that is where the focus was. If it is gone, its part gets the focus and nobody is selected, so that
// Enter does nothing.
function putFocus(place) {
  const control = controlAt(place);
  const part = byId(place.part);
  if (!control) {
    select(null);
    part.tabIndex = -1;
  }
  (control ?? part).focus({ preventScroll: true });
}

// A dialog gives the focus back to the control that had it before, unless that was replaced meanwhile.
let behindDialog = null;
document.addEventListener("focusin", ({ target, relatedTarget }) => {
  if (target.closest("dialog") && !relatedTarget?.closest("dialog")) behindDialog = relatedTarget && placeOf(relatedTarget);
});
document.addEventListener("close", () => {
  const hasFocus = !document.activeElement.matches("body, dialog:not([open]) *");
  if (behindDialog && !hasFocus) putFocus(behindDialog);
}, { capture: true });

// A response that was read before a mark was saved has the old status of that row, so the shown row is kept.
function keepMarked(content, readAt) {
  for (const row of document.querySelectorAll("#roster > .seat")) {
    if (marking.has(row.id) || markedAt.get(row.id) >= readAt) content.getElementById(row.id)?.replaceWith(row);
  }
}

async function refresh() {
  // A button that is being pressed must not be replaced under the pointer, and a class that is being opened comes first.
  if (isPressing || opening) { due = setTimeout(refresh, REFRESH_MILLISECONDS); return; }
  let content = null;
  const readAt = performance.now();
  try {
    content = await load(byId("panel")?.dataset.url ?? location.href);
  } catch {
    return; // a later load took its place, or the network is gone
  }
  if (!content) return;
  const place = placeOf(document.activeElement);
  keepMarked(content, readAt);
  replaceParts(content);
  filter(byId("find")?.value ?? "");
  reselect();
  if (place) putFocus(place);
}

async function open(url) {
  opening += 1;
  try {
    const content = await load(url);
    const panel = content?.getElementById("panel");
    if (!panel) return location.assign(url);
    byId("panel").replaceWith(panel);
    byId("classes").replaceWith(content.getElementById("classes"));
    document.querySelector(".desk").classList.toggle("is-open", content.querySelector(".desk").classList.contains("is-open"));
    selected = "";
    document.querySelector(".class-card[aria-current]")?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  } finally {
    opening -= 1;
  }
  return undefined;
}

document.addEventListener("click", (event) => {
  const card = event.target.closest("a.class-card, a[data-class-link]");
  const plain = event.button === 0 && isPlain(event) && !event.shiftKey;
  if (!card || !plain || isPhone.matches) return;
  event.preventDefault();
  history.pushState({ desk: true }, "", card.href);
  open(card.href);
});
window.addEventListener("popstate", () => { if (document.querySelector(".desk")) open(location.href); });
document.addEventListener("deskChanged", refresh);
// Somebody whose session had ended has signed in again: show what happened meanwhile.
document.addEventListener("resumeForm", refresh);

// Live: refresh when a class that this page shows has changed.

function isShown(id) {
  return id === "*" || id === desk.dataset.class || !desk.dataset.class;
}

const WORDS = { live: "Live", polling: "Live", waiting: "Reconnecting…", ended: "Signed out" };

// The panel beside the list ends at the edge of the screen, also where the buttons of the top bar take two lines.
const topbar = document.querySelector(".topbar");
if (topbar && desk) {
  new ResizeObserver(() => desk.style.setProperty("--topbar", `${topbar.offsetHeight}px`)).observe(topbar);
}

if (desk) {
  const light = document.querySelector("[data-live]");
  follow(Number(desk.dataset.sequence), (classes) => {
    if (!classes.some(isShown)) return;
    clearTimeout(due);
    due = setTimeout(refresh, REFRESH_MILLISECONDS);
  }, (state) => {
    if (!light) return;
    light.hidden = false;
    light.dataset.live = state;
    light.textContent = WORDS[state];
  });
  // "in 12 min" moves on by itself.
  setInterval(() => { if (!document.hidden) refresh(); }, 60_000);
}
