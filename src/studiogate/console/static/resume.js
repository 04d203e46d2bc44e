// A form that had to wait: the session ended, or the password must be typed again. The dialog asks; then it is sent.

const dialog = document.getElementById("dialog");
let waiting = null;

// Ask to sign in for a request that was not sent by htmx; the answer to it is the form that asks. When somebody has
// signed in, the event resumeForm says so.
export function askToSignIn(html) {
  const content = document.getElementById("dialog-content");
  if (!content || dialog.open) return;
  waiting = null;
  content.innerHTML = html;
  htmx.process(content);
  document.dispatchEvent(new Event("askAgain"));
}

const refresh = (csrf) => document.querySelectorAll('input[name="csrf"]').forEach((field) => { field.value = csrf; });

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (xhr.getResponseHeader("HX-Trigger-After-Swap") !== "askAgain") return;
  if (!dialog || dialog.open) event.detail.shouldSwap = false;
  else waiting = requestConfig.verb === "post" ? requestConfig.elt : null;
});
document.addEventListener("askAgain", () => {
  if (!dialog) return;
  if (!dialog.open) dialog.showModal();
  // Where no form had to wait, those of this page belong to whoever it was made for.
  const owner = dialog.querySelector('input[name="owner"]');
  if (owner && !owner.value) owner.value = document.querySelector('input[name="csrf"]')?.value ?? "";
  dialog.setAttribute("aria-label", dialog.querySelector("h2")?.textContent ?? "");
  dialog.querySelector("input:not([type=hidden])")?.focus();
});
document.addEventListener("resumeForm", (event) => {
  refresh(event.detail.csrf);
  dialog?.close();
  const form = waiting?.closest("form");
  waiting = null;
  if (form) form.requestSubmit();
});
document.addEventListener("freshToken", (event) => refresh(event.detail.csrf));
document.querySelector("form[data-send-now]")?.requestSubmit();
