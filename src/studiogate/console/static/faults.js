// After a refusal each faulty field is marked and has its fault below it, and the first of them has the focus. A form of a
// page comes back like that; in a drawer the form stays as it is, and the refusal above it names the fields.

// The fault of a group, which is a fieldset with a name, is marked at the first of its fields.
function fieldOf(form, name) {
  const found = form.elements[name];
  const first = found instanceof RadioNodeList ? found[0] : found;
  const field = first instanceof HTMLFieldSetElement ? first.querySelector("input:not([type=hidden])") : first;
  return field && field.type !== "hidden" && field.labels?.length ? field : null;
}

const groupOf = (field) => field.closest("fieldset[name]");
const placeOf = (field) => groupOf(field) ?? field.closest(".field");

// The label without what it adds, such as "optional".
const labelOf = (field) => (groupOf(field)?.querySelector("legend") ?? field.labels[0]).firstChild.textContent.trim();

function mark(field, fault) {
  const text = Object.assign(document.createElement("p"), { className: "fault", id: `${field.id}-fault`, textContent: fault });
  const described = field.getAttribute("aria-describedby") ?? "";
  if (!described.split(" ").includes(text.id)) field.setAttribute("aria-describedby", `${described} ${text.id}`.trim());
  field.setAttribute("aria-invalid", "true");
  placeOf(field)?.classList.add("has-fault");
  (placeOf(field) ?? field.parentElement).append(text);
}

function unmark(form) {
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    placeOf(field)?.classList.remove("has-fault");
    document.getElementById(`${field.id}-fault`)?.remove();
  }
}

document.addEventListener("htmx:beforeRequest", (event) => { if (event.target.matches("form")) unmark(event.target); });
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const slot = detail.target, form = slot?.matches("[data-refusal]") && slot.closest("form");
  if (!form) return;
  for (const line of slot.querySelectorAll("[data-field]")) {
    const field = fieldOf(form, line.dataset.field);
    if (!field) continue;
    line.querySelector("span").textContent = labelOf(field);
    mark(field, line.dataset.fault);
  }
  form.querySelector("[aria-invalid]")?.focus();
});

document.querySelector("#content [aria-invalid]")?.focus();
