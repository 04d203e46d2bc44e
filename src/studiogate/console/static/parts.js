// The parts of Today and Class that are replaced when something changed; whatever is typed beside them stays.

const PARTS = ["classes", "roster", "counts", "waitlist", "just-now", "spots", "history"];
const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";

// Put a fresh part in the place of the shown one; it stays scrolled as it was.
function replace(id, content) {
  const fresh = content.getElementById(id);
  const current = document.getElementById(id);
  if (!fresh || !current) return;
  const scrolled = current.scrollTop;
  current.replaceWith(fresh);
  fresh.scrollTop = scrolled;
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
