// Says that the network is gone, and that it is back; and that the service could not answer. Nothing is lost: forms and
// pages stay as they are.

import { say } from "./toasts.js";

const notice = document.getElementById("network");
const show = (gone) => { if (notice) notice.hidden = !gone; };
const BUSY = "The service is busy. Wait a moment, then try again: what you typed is still there.";
const GONE = "The network is gone. What you typed is still there: press again when it is back.";
const UNSURE = "The database was lost while this was being saved. It may or may not have been saved: look before you repeat it.";
const FAILED = "Something went wrong on our side. Try again: what you typed is still there.";

window.addEventListener("offline", () => show(true));
window.addEventListener("online", () => show(false));

const slotOf = (event) => event.target.closest("form")?.querySelector("[data-refusal]");

// Beside the form that was sent, where refusals are, and where people look.
function showMessage(event, text) {
  const slot = slotOf(event);
  if (!slot) { say(text); return; }
  const notice = document.createElement("div");
  notice.className = "notice danger";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  slot.replaceChildren(notice);
  slot.scrollIntoView({ block: "nearest" });
}

// A refusal is above the fields; the button that was pressed may be a screen further down.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.matches("[data-refusal]")) detail.target.scrollIntoView({ block: "nearest" });
});
// Only the form's own request takes the refusal away: a check of what is being typed, inside the form, says nothing
// about it.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.matches("form")) slotOf(event)?.replaceChildren();
});
document.addEventListener("htmx:sendError", (event) => { show(true); if (slotOf(event)) showMessage(event, GONE); });
document.addEventListener("htmx:afterOnLoad", () => show(false));
document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  const status = xhr.status;
  if (xhr.getResponseHeader("X-Outcome") === "unknown") showMessage(event, UNSURE);
  else if (status === 429 || status === 503) showMessage(event, BUSY);
  else if (status >= 500) showMessage(event, FAILED);
});
show(!navigator.onLine);
