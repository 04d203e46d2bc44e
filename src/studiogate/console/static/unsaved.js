// Nothing that somebody typed is lost by accident. Whatever leads away from a form with changes asks first: a link, another
// form and another page in the drawer with the console's own question; Back, Forward, a reload and closing the tab with
// the browser's.

const question = document.getElementById("question");

// What counts. The text of a search or a filter does not, neither does what a browser or an app fills in again, nor the
// field of a script that writes into another one: it has no name, and is not sent.

const REFILLED = ":not([name]), [type=password], [type=search], [autocomplete=username], [autocomplete=one-time-code]";

function isChanged(field) {
  if (field.matches(REFILLED)) return false;
  // A form that was refused comes back with what was typed; then data-saved is what is stored.
  const { saved } = field.dataset;
  if (field instanceof HTMLSelectElement) {
    const first = [...field.options].findIndex((option) => option.defaultSelected);
    return saved === undefined ? field.selectedIndex !== Math.max(0, first) : field.value !== saved;
  }
  if (field.type === "checkbox" || field.type === "radio") {
    return field.checked !== (saved === undefined ? field.defaultChecked : saved === "on");
  }
  return "defaultValue" in field && field.value !== (saved ?? field.defaultValue);
}

// A link may lead away from a choice, which is quickly made again; only what was typed is worth a question.
const isTyped = (field) => isChanged(field) && !field.matches("select, [type=radio], [type=checkbox], [type=file]");

// A form that holds typed values while the page asks about them says so: data-unsaved. One that is being sent is not lost.
function holds(form, isLoss) {
  return !("sent" in form.dataset) && ("unsaved" in form.dataset || [...form.elements].some(isLoss));
}

// Whether a part of the page has something unsaved, apart from dialogs that were closed before; `sent` is the form that
// is about to be sent from it.
export function isUnsaved(part, isLoss = isChanged, sent = null) {
  const forms = [...(part?.querySelectorAll("form[method=post]:not([role=search])") ?? [])];
  const isGone = (form) => ![part, null].includes(form.closest("dialog:not([open])"));
  return forms.some((form) => form !== sent && !isGone(form) && holds(form, isLoss));
}

// The question.

let agreed = null;
let declined = null;

export function askToDiscard(work, otherwise = null) {
  agreed = work;
  declined = otherwise;
  question.returnValue = "";
  if (!question.open) question.showModal();
}

question?.addEventListener("close", () => {
  if (question.returnValue === "discard") agreed();
  else declined?.();
});

// Whoever agreed, or follows a link that loses nothing, is not asked again until they change something or the page stays.
let hasAgreed = false;
for (const type of ["input", "change", "htmx:afterSwap"]) document.addEventListener(type, () => { hasAgreed = false; });

// Ask before an event takes effect that would lose something of a part of the page; then let it happen again.
function ask(event, part, sent, again) {
  if (!question || hasAgreed || !isUnsaved(part, isTyped, sent)) return false;
  event.preventDefault();
  event.stopImmediatePropagation();
  document.querySelector("#palette[open]")?.close();
  askToDiscard(() => { hasAgreed = true; again(); });
  return true;
}

const openDrawer = () => document.querySelector("#drawer[open]");

// A link, also one in a picture, unless it opens a window or a program of its own, ticks boxes of its form (data-scopes), or carries what was
// typed along (data-keeps-typed).
const STAYS = "[data-palette-open], [data-scopes], [target], [download], [href^='#']";

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || !(link.protocol ?? "http").startsWith("http") || link.matches(STAYS)) return;
  const part = link.matches("[data-drawer]") ? openDrawer() : document;
  if (link.matches("[data-keeps-typed]") || !ask(event, part, null, () => link.dispatchEvent(new MouseEvent("click", event)))) hasAgreed = true;
}, { capture: true });

// Another form, such as the one that signs out. htmx says itself what it is going to replace.
document.addEventListener("submit", (event) => {
  const form = event.target, { submitter } = event;
  if (form.method === "dialog" || form.matches("[hx-post], [hx-get], [data-mark], [data-promote], [data-download]")) return;
  const part = form.matches("[data-drawer-get]") ? openDrawer() : document;
  if (!ask(event, part, form, () => form.requestSubmit(submitter))) hasAgreed = true;
}, { capture: true });

document.addEventListener("htmx:confirm", (event) => {
  const { elt, target, issueRequest } = event.detail;
  const form = elt.closest("form");
  // A form that shows a refusal in itself leaves the page when it takes effect.
  const part = target?.matches("[data-refusal]") ? document : target;
  if (!question || hasAgreed || !isUnsaved(part, isTyped, form)) return;
  event.preventDefault();
  // A filter whose results are not shown goes back to what is shown.
  askToDiscard(() => { hasAgreed = true; issueRequest(true); }, () => { if (form?.method === "get") form.reset(); });
});

window.addEventListener("beforeunload", (event) => {
  if (hasAgreed || document.querySelector("form[data-sent]") || !isUnsaved(document)) return;
  event.preventDefault();
  event.returnValue = true; // for browsers that do not heed preventDefault here
});
