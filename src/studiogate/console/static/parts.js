// The parts of Today and Class that are replaced when something changed; whatever is typed in or beside them stays.

import { isUnsaved } from "./unsaved.js";

const PARTS = [
  "classes", "class-back", "class-around", "class-title", "class-actions", "counts", "roster", "waitlist", "just-now", "spots", "history",
  "class-details", "class-forms", "class-rules",
];
const TOKENS = "input[name=csrf], input[name=idempotency]";
const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";

// Whether two parts show the same; the tokens of forms, which nobody sees, are new each time.
function isSame(...parts) {
  const [one, other] = parts.map((part) => part.cloneNode(true));
  for (const part of [one, other]) part.querySelectorAll(TOKENS).forEach((field) => field.remove());
  return one.isEqualNode(other);
}

// Whether a form of a part has been filled in or is being sent; once the class has none, it would be refused anyway.
const isUsed = (part) => isUnsaved(part) || part.querySelector("form[data-sent]");

// Put a fresh part in the place of the shown one; it stays scrolled as it was.
function replace(id, content) {
  const fresh = content.getElementById(id);
  const current = document.getElementById(id);
  if (!fresh || !current || isSame(current, fresh)) return;
  if (isUsed(current) && fresh.querySelector("form")) return;
  const scrolled = current.scrollTop;
  current.replaceWith(fresh);
  fresh.scrollTop = scrolled;
  htmx.process(fresh);
}

export function replaceParts(content) {
  for (const id of PARTS) replace(id, content);
}

// What tells a control from all others of its part, before and after a replacement: "Check in" of a person is another
// control than "was here".
function nameOf(control) {
  const label = control.getAttribute("aria-label") ?? (control.matches("button") ? control.textContent : "");
  return [control.id, control.getAttribute("href"), control.form?.getAttribute("action"), label].join("\n");
}

// Where a control is, if that is in one of the parts; and the control that is there now.

export function placeOf(control) {
  const part = PARTS.find((id) => document.getElementById(id)?.contains(control));
  return part ? { part, name: nameOf(control) } : null;
}

export function controlAt({ part, name }) {
  return [...document.getElementById(part).querySelectorAll(CONTROLS)].find((each) => nameOf(each) === name);
}
