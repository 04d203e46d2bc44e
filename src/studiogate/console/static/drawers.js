// A link with data-drawer opens its page in the drawer. Without JavaScript it is a page of its own.

import { askToDiscard, isUnsaved } from "./unsaved.js";

const drawer = document.getElementById("drawer");

export function openDrawer(href) {
  if (!drawer) return location.assign(href);
  return htmx.ajax("GET", href, { target: "#drawer-content", swap: "innerHTML" });
}

// Whatever is put into the drawer is shown: a page that a link opened, or a question that a form of the page asks.
function show() {
  if (!drawer.open) drawer.showModal();
  const heading = drawer.querySelector("#drawer-title");
  if (heading) drawer.setAttribute("aria-label", heading.textContent);
  const first = drawer.querySelector("#drawer-content :is([autofocus], input:not([type=hidden]), select, textarea)");
  first?.focus();
}
let isClosing = false;
document.addEventListener("htmx:beforeRequest", () => { isClosing = false; });
document.addEventListener("htmx:afterSwap", (event) => {
  const { target } = event.detail;
  if (!isClosing && target?.id === "drawer-content" && target.childElementCount) show();
});

// Closing. A person who closes the drawer is asked first if something would be lost.

let isAgreed = false;

function close(dialog) {
  isAgreed = dialog === drawer && drawer.open;
  dialog.close();
}

export function closeDrawer() {
  if (drawer) close(drawer);
}

function leave(dialog) {
  if (dialog === drawer && isUnsaved(drawer)) askToDiscard(closeDrawer);
  else close(dialog);
}

drawer?.addEventListener("cancel", (event) => {
  if (event.target !== drawer || !isUnsaved(drawer)) return;
  event.preventDefault();
  askToDiscard(closeDrawer);
});
// The second of two back gestures on a phone closes a dialog without a cancel event.
drawer?.addEventListener("close", () => {
  if (!isAgreed && isUnsaved(drawer)) {
    drawer.showModal();
    askToDiscard(closeDrawer);
  }
  isAgreed = false;
});
// Browsers do not let a page cancel the second Escape in a row, so all of them are handled here.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("[popover='']:popover-open")) return;
  const opened = [...document.querySelectorAll("dialog[open]")];
  const dialog = event.target.closest("dialog[open]") ?? (opened.length === 1 ? opened[0] : null);
  if (!dialog) return;
  event.preventDefault();
  if (event.repeat) return;
  leave(dialog);
});

// The dimmed page closes a dialog if it was pressed and released there: not after selecting text beyond the edge, and
// not for the empty space inside, where the dialog is the target too.
let pressedOutside = null;

function outside(event) {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement) || !dialog.open) return null;
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  return inside ? null : dialog;
}

document.addEventListener("pointerdown", (event) => { pressedOutside = outside(event); });

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (link?.matches("[data-drawer]") && plain) {
    event.preventDefault();
    openDrawer(link.getAttribute("href")); // the href of a link in a picture, such as a spot map, is no text
  }
  const closing = event.target.closest("[data-close-dialog]")?.closest("dialog") ?? outside(event);
  if (closing && (event.target !== closing || closing === pressedOutside)) leave(closing);
});
// A form with data-drawer-get that is in the drawer, such as a choice of the day, shows its page there too.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-drawer-get]") || !form.closest("dialog")) return;
  event.preventDefault();
  openDrawer(`${form.action}?${new URLSearchParams(new FormData(form))}`);
});
// The server asks for it after an action in the drawer: HX-Trigger: closeDrawer.
document.addEventListener("closeDrawer", () => { isClosing = true; closeDrawer(); });
