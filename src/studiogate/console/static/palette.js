// The palette: Ctrl-K or ⌘K anywhere, type, arrow keys, Enter. Answers that arrive out of order are dropped. Enter opens
// what is found for the text as it is, never for an earlier one.

import { askToSignIn } from "./resume.js";

const dialog = document.getElementById("palette");
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("[data-hits]");
let asked = 0;
let timer = 0;
// The text that was asked for last, the text that the list answers, and whether Enter waits for that answer.
let text = null;
let answered = null;
let isEntered = false;

const hits = () => [...list.querySelectorAll("[role=option]")];

function choose(hit) {
  hits().forEach((each) => each.setAttribute("aria-selected", String(each === hit)));
  if (hit) input.setAttribute("aria-activedescendant", hit.id);
  else input.removeAttribute("aria-activedescendant");
  hit?.scrollIntoView({ block: "nearest" });
}

async function ask() {
  clearTimeout(timer);
  const mine = ++asked;
  text = input.value;
  try {
    // What is searched for may be a name: it is sent in the body, never in an address.
    const body = new URLSearchParams({ q: text });
    for (const name of ["csrf", "idempotency"]) body.set(name, document.querySelector(`input[name="${name}"]`).value);
    const answer = await fetch("/console/search", { method: "POST", body, headers: { "HX-Request": "true" } });
    const html = await answer.text();
    if (mine !== asked) return;
    if (answer.status === 401) { forget(); askToSignIn(html); return; }
    if (!answer.ok) throw new Error(answer.statusText);
    list.innerHTML = html;
    answered = text;
    choose(hits()[0]);
    if (isEntered) enter();
  } catch {
    if (mine !== asked) return;
    forget();
    list.innerHTML = '<p class="palette-empty muted">The search does not answer. Try again.</p>';
  }
}

// There is no answer to wait for: the next Enter asks again.
function forget() {
  asked += 1;
  text = answered = null;
  isEntered = false;
}

// Open the chosen result, or the first one when those of the typed text are there.
function enter() {
  isEntered = answered !== input.value;
  if (!isEntered) list.querySelector('[aria-selected="true"]')?.click();
  else if (text !== input.value) ask();
}

function open() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  ask();
}

// Somebody whose session had ended has signed in again. In Chromium, a field that another dialog gives the focus back to
// has no caret.
function resume() {
  if (!dialog.open) return;
  input.setSelectionRange(input.value.length, input.value.length);
  ask();
}

function move(step) {
  const all = hits();
  const at = all.findIndex((each) => each.getAttribute("aria-selected") === "true");
  choose(all[(at + step + all.length) % all.length]);
}

if (dialog) {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette-open]")) {
      event.preventDefault();
      open();
    }
  });
  dialog.addEventListener("close", () => { clearTimeout(timer); forget(); });
  document.addEventListener("resumeForm", resume);
  input.addEventListener("input", () => {
    isEntered = false;
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      enter();
    }
  });
}
