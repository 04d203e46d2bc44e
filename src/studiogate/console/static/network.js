// Says that the network is gone, and that it is back. Nothing is lost: forms stay as they are.

const notice = document.getElementById("network");
const show = (gone) => { if (notice) notice.hidden = !gone; };

window.addEventListener("offline", () => show(true));
window.addEventListener("online", () => show(false));
document.addEventListener("htmx:sendError", () => show(true));
document.addEventListener("htmx:afterOnLoad", () => show(false));
show(!navigator.onLine);
