/* <script src="https://HOST/f/embed.js" data-form="studio/form"></script> puts that form where the script stands. */
"use strict";
(function () {
  const script = document.currentScript;
  const form = script && script.dataset.form;
  if (!form || !/^[a-z0-9-]+\/[a-z0-9-]+$/.test(form)) {
    console.warn("Studiogate: data-form must be studio/form.");
    return;
  }
  const origin = new URL(script.src).origin;
  const frame = document.createElement("iframe");
  frame.src = `${origin}/f/${form}?embed=1`;
  frame.title = script.dataset.title || "Form";
  Object.assign(frame.style, { width: "100%", height: "640px", border: "0", display: "block", colorScheme: "normal" });
  // What the form's page says is believed only from that very frame, and only a height of sane size.
  window.addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin || !event.data) return;
    const { studiogate, value } = event.data;
    if (studiogate === "height" && Number.isFinite(value)) frame.style.height = `${Math.min(Math.max(value, 120), 20000)}px`;
    if (studiogate === "top") frame.scrollIntoView({ block: "start" });
  });
  script.after(frame);
})();
