// Says that the network is gone, and that it is back; and that the service could not answer. Nothing is lost: forms and
// pages stay as they are.

import { say } from "./toasts.js";

const notice = document.getElementById("network");
const show = (gone) => { if (notice) notice.hidden = !gone; };
const BUSY = "The service is busy. Wait a moment, then try again: what you typed is still there.";
const FAILED = "Something went wrong on our side. Try again: what you typed is still there.";

window.addEventListener("offline", () => show(true));
window.addEventListener("online", () => show(false));
document.addEventListener("htmx:sendError", () => show(true));
document.addEventListener("htmx:afterOnLoad", () => show(false));
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  if (status === 429 || status === 503) say(BUSY);
  else if (status >= 500) say(FAILED);
});
show(!navigator.onLine);
