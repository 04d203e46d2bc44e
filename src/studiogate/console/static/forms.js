// A form is sent once: a second press while the answer is awaited does nothing. The server checks that too.

import { say } from "./toasts.js";

function newToken() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  // After a download the page stays, and the next press is another download.
  if (form.matches("[data-download]")) {
    setTimeout(() => { form.elements.idempotency.value = newToken(); });
    return;
  }
  if (form.dataset.sent !== undefined) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "";
});
// A page that is shown again by the back button can be sent again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches("form[method=post]:not([role=search])")) event.target.dataset.sent = "";
});
// A form whose answer leads to another page has been sent for good.
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest("form"), answer = event.detail.xhr;
  const leaves = ["HX-Redirect", "HX-Refresh"].some((name) => answer.getResponseHeader(name));
  if (form && !leaves) delete form.dataset.sent;
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) navigator.clipboard?.writeText(button.dataset.copy).then(() => say("Copied."));
});
// A file that is too large is refused before it is sent: the server would end the connection while it arrives.
document.addEventListener("change", ({ target }) => {
  const most = Number(target.dataset?.maxBytes), file = target.files?.[0];
  if (!most) return;
  const text = `This file has ${(file?.size / 2 ** 20).toFixed(1)} MB. Choose one of at most ${most / 2 ** 20} MB.`;
  target.setCustomValidity(file?.size > most ? text : "");
  target.reportValidity();
});
// A day or location that is chosen in the top bar opens at once. One that is typed opens with Enter: each key would be a day.
const pickerOf = (event) => event.target.closest?.("[data-date-picker]");
document.addEventListener("keydown", (event) => { if (pickerOf(event)) pickerOf(event).dataset.typed = ""; });
document.addEventListener("pointerdown", (event) => { delete pickerOf(event)?.dataset.typed; });
document.addEventListener("change", (event) => {
  const form = pickerOf(event);
  if ((form?.dataset.typed === undefined || event.target.matches("select")) && form?.checkValidity()) form.requestSubmit();
});
