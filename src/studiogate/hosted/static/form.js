/* A form's page with script: fields come and go as answers change, steps change without a round trip of the page,
   signatures are drawn, files go up on their own. What is right and wrong is the server's to say, also for one step.
   The page is complete without this file: it only takes over what the server has rendered. */
"use strict";
(function () {
  if (window.parent !== window && document.body.classList.contains("embedded")) reportHeight();
  const form = document.getElementById("form");
  if (!form) return;
  const { visibleKeys, strip } = globalThis.studiogateVisibility;
  const started = performance.now();
  const steps = [...form.querySelectorAll(".step")];
  const fields = [...form.querySelectorAll("[data-name]")].map(readField);
  const primary = form.querySelector(".primary");
  const back = form.querySelector(".secondary");
  const summary = document.getElementById("summary");
  const trouble = document.getElementById("trouble");
  const status = document.getElementById("status");
  let step = Number(form.elements.step.value);
  let busy = false;
  let uploading = 0;

  function readField(element) {
    const { key, type, rule, name } = element.dataset;
    return { element, key, type, name, rule: rule ? JSON.parse(rule) : null, multiple: "multiple" in element.dataset };
  }

  /* Answers, as the server reads them from the same inputs. */
  function answers() {
    const data = new FormData(form);
    const found = {};
    for (const field of fields) if (field.key !== undefined) found[field.key] = answer(field, data);
    return found;
  }

  function answer(field, data) {
    const all = data.getAll(field.name).filter((each) => typeof each === "string" && strip(each));
    if (field.type === "address") {
      const lines = [...field.element.querySelectorAll("input")].map((input) => strip(input.value));
      return lines.filter(Boolean).join("\n");
    }
    if (field.type === "checkbox_group" || field.type === "file_upload" || field.multiple) return [...new Set(all)];
    const last = all.length ? all[all.length - 1] : "";
    if (field.type === "select") return last;
    return strip(last).replace(/\r\n?/g, "\n");
  }

  const asked = fields.filter((field) => field.key !== undefined);
  const isVisible = (index) => index === 0 || asked.some((f) => steps[index].contains(f.element) && !f.element.hidden);
  const reachable = () => steps.map((_, index) => index).filter(isVisible);

  function refresh() {
    const visible = visibleKeys(asked, answers());
    for (const { element, key } of asked) {
      const hidden = !visible.has(key);
      if (element.hidden === hidden) continue;
      element.hidden = hidden;
      element.classList.toggle("revealed", !hidden);
    }
    for (const button of form.querySelectorAll(".clear")) {
      button.hidden = !button.parentElement.querySelector(":checked");
    }
    showStep(step, false);
  }

  /* Steps. */
  function showStep(to, moved) {
    const open = reachable();
    step = open.includes(to) ? to : Math.max(...open.filter((index) => index < to), 0);
    form.elements.step.value = step;
    steps.forEach((section, index) => { section.hidden = index !== step; });
    const place = open.indexOf(step);
    const last = place === open.length - 1;
    primary.value = last ? "send" : "next";
    primary.querySelector(".label").textContent = last ? form.dataset.send : "Continue";
    if (back) back.hidden = place === 0;
    showProgress(open, place);
    if (moved) {
      const section = steps[step];
      section.setAttribute("aria-label", `Step ${place + 1} of ${open.length} ${section.dataset.heading}`);
      section.classList.add("turned");
      section.focus({ preventScroll: true });
      toTop();
    }
  }

  function showProgress(open, place) {
    const text = document.getElementById("progress-text");
    if (!text) return;
    text.textContent = `Step ${place + 1} of ${open.length}`;
    [...document.querySelectorAll(".bar span")].forEach((segment, index) => {
      segment.hidden = !open.includes(index);
      segment.className = index <= step ? "on" : "";
    });
    const lead = document.querySelector(".card > .lead");
    if (lead) lead.hidden = place > 0;
  }

  function toTop() {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    window.scrollTo({ top: 0, behavior: calm ? "auto" : "smooth" });
    if (window.parent !== window) window.parent.postMessage({ studiogate: "top" }, "*");
  }

  /* Faults, beside each field and in a summary that leads to them. */
  let wrong = fields.filter(({ element }) => element.classList.contains("wrong"));
  function showFaults(faults, message) {
    wrong = [];
    for (const field of fields) {
      const text = Object.hasOwn(faults, field.name) ? faults[field.name] : "";
      setFault(field.element, text);
      if (text) wrong.push(field);
    }
    listFaults(message);
    if (!summary.hidden) {
      summary.focus({ preventScroll: true });
      toTop();
    }
  }

  function listFaults(message) {
    summary.querySelector("ul").replaceChildren(...wrong.map(summaryItem));
    const count = wrong.length === 1 ? "Please check 1 answer" : `Please check ${wrong.length} answers`;
    document.getElementById("summary-title").textContent = message || (wrong.length ? count : "");
    summary.hidden = !message && !wrong.length;
    summary.classList.toggle("info", !wrong.length);
  }

  /* The answer changed: its fault is not shown any longer, nor counted. */
  function clearFault(field) {
    setFault(field.element, "");
    if (!wrong.includes(field)) return;
    wrong = wrong.filter((each) => each !== field);
    listFaults("");
  }

  function setFault(element, text) {
    const error = element.querySelector(".error");
    if (!error) return;
    error.querySelector("span").textContent = text;
    error.hidden = !text;
    element.classList.toggle("wrong", Boolean(text));
    for (const input of element.querySelectorAll("input[aria-describedby], textarea, select")) {
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }

  function summaryItem(field) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const label = field.element.querySelector("label, legend");
    const words = field.element.querySelector(".title") || label;
    link.textContent = words.textContent.replace(/\*|\(required\)/g, "").trim();
    link.href = "#" + (field.element.id || label.htmlFor);
    link.addEventListener("click", (event) => { event.preventDefault(); focusOn(field); });
    item.append(link);
    return item;
  }

  function focusOn(field) {
    const home = steps.findIndex((section) => section.contains(field.element));
    if (home !== step) showStep(home, false);
    const input = field.element.querySelector("input:not([type=hidden]), textarea, select");
    (input || field.element).focus();
  }

  /* Sending: the same form, the same judgement; the answer comes as JSON and the page stays. */
  async function post(action) {
    const data = new FormData(form);
    const body = new URLSearchParams();
    for (const [name, value] of data) if (typeof value === "string" && name !== "shown") body.append(name, value);
    body.set("action", action);
    // The buttons are named "action" and so hide the form's own property of that name.
    const address = form.getAttribute("action");
    const response = await fetch(address, { method: "POST", body, headers: { Accept: "application/json" } });
    return response.json();
  }

  async function act(action) {
    if (busy) return;
    trouble.hidden = true;
    if (action === "back") return showStep(previous(), true);
    if (uploading) return showFaults({}, "A file is still uploading. Please wait until it is done.");
    setBusy(true);
    try {
      if (action === "send") await waited();
      let reply = await post(action);
      if (reply.wait) {
        await pause(reply.wait * 1000 + 50);
        reply = await post(action);
      }
      settle(reply);
    } catch {
      showTrouble("The form could not be sent. Check your connection and try again.");
    } finally {
      setBusy(false);
    }
  }

  function settle(reply) {
    if (reply.token) form.elements.token.value = reply.token;
    if (reply.location) {
      navigating = true;
      return window.location.assign(reply.location);
    }
    if (reply.notice) return showNotice(reply.notice);
    if (reply.faults) {
      if (reply.step !== undefined) showStep(reply.step, false);
      return showFaults(reply.faults, reply.message || "");
    }
    if (reply.message) return showTrouble(reply.message);
    showFaults({}, "");
    showStep(reply.step, true);
  }

  /* Nothing is wrong with the answers: they stay, and the button below can be pressed again. */
  function showTrouble(message) {
    showFaults({}, "");
    trouble.textContent = `${message} Your answers are still here.`;
    trouble.hidden = false;
    trouble.focus();
  }

  function previous() {
    const open = reachable();
    showFaults({}, "");
    return open[Math.max(open.indexOf(step) - 1, 0)];
  }

  function showNotice({ title, text }) {
    const heading = document.createElement("h1");
    const words = document.createElement("p");
    heading.textContent = title;
    heading.tabIndex = -1;
    words.textContent = text;
    words.className = "lead";
    const card = form.closest(".card");
    card.classList.add("message");
    card.replaceChildren(heading, words);
    navigating = true;
    heading.focus();
  }

  function setBusy(now) {
    busy = now;
    form.classList.toggle("busy", now);
    primary.setAttribute("aria-disabled", String(now));
    status.textContent = now ? "Sending" : "";
  }

  const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
  /* The server takes nothing from who is quicker than a person; a person who is waits the rest here. */
  const waited = () => pause(Math.max(0, Number(form.dataset.wait) * 1000 - (performance.now() - started)));

  /* Signatures: drawn with anything that points, or typed. What is sent is the picture. */
  function readyPad(field) {
    const { element } = field;
    const canvas = element.querySelector("canvas");
    const pen = canvas.getContext("2d");
    const kept = element.querySelector("input[type=hidden]");
    const typed = element.querySelector(".typed");
    const wipe = element.querySelector(".wipe");
    let last = null;
    // As high as the style sheet makes it: a phone's pad is taller for its width.
    if (matchMedia("(max-width: 30rem)").matches) canvas.height = 280;

    const clear = () => { pen.fillStyle = "#fff"; pen.fillRect(0, 0, canvas.width, canvas.height); };
    function keep(signed) {
      kept.value = signed ? canvas.toDataURL("image/png") : "";
      element.classList.toggle("signed", signed);
      wipe.hidden = !signed;
      canvas.setAttribute("aria-label", signed ? "Signature, signed" : "Signature, not signed yet");
      if (signed) clearFault(field);
      refresh();
    }
    function place(event) {
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
    }
    function draw(event) {
      if (!last) return;
      for (const each of event.getCoalescedEvents?.() ?? [event]) {
        const next = place(each);
        pen.beginPath();
        pen.moveTo(last.x, last.y);
        pen.lineTo(next.x, next.y);
        pen.stroke();
        last = next;
      }
    }
    function type() {
      clear();
      const name = typed.value.trim().replace(/\s+/g, " ");
      let size = 64;
      pen.fillStyle = "#14161a";
      do { pen.font = `italic ${size}px "Snell Roundhand", "Segoe Script", "Brush Script MT", Georgia, serif`; size -= 4; }
      while (size > 14 && pen.measureText(name).width > canvas.width - 48);
      pen.fillText(name, 24, canvas.height * 0.66);
      keep(Boolean(name));
    }
    Object.assign(pen, { lineWidth: 3, lineCap: "round", lineJoin: "round", strokeStyle: "#14161a" });
    clear();
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      if (typed.value) { typed.value = ""; clear(); }
      last = place(event);
      pen.fillStyle = "#14161a";
      pen.beginPath();
      pen.arc(last.x, last.y, 1.5, 0, 7);
      pen.fill();
      element.classList.add("signed");
    });
    canvas.addEventListener("pointermove", draw);
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, () => { if (last) { last = null; keep(true); } });
    }
    wipe.addEventListener("click", () => { typed.value = ""; clear(); keep(false); canvas.focus(); typed.focus(); });
    typed.addEventListener("input", type);
    if (typed.value) type();
  }

  /* Files: each goes up when it is chosen, and shows how far it is. */
  function readyFiles(field) {
    const { element } = field;
    const input = element.querySelector("input[type=file]");
    const list = element.querySelector(".files");
    const drop = element.querySelector(".drop");
    const say = (text) => { element.querySelector(".upload-status").textContent = text; };

    function take(files) {
      const chosen = input.multiple ? [...files] : [...files].slice(0, 1);
      if (!input.multiple && chosen.length) list.replaceChildren();
      chosen.forEach((file) => send(field, file, Number(input.dataset.max), list, say));
      input.value = "";
    }
    input.addEventListener("change", () => take(input.files));
    for (const [event, over] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
      drop.addEventListener(event, (happened) => {
        happened.preventDefault();
        drop.classList.toggle("over", over);
        if (event === "drop") take(happened.dataTransfer.files);
      });
    }
    for (const box of list.querySelectorAll("input")) {
      box.closest("li").append(removal(box.closest("li"), box.parentElement.textContent));
      box.hidden = true;
    }
  }

  function removal(item, name, request) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Remove";
    button.setAttribute("aria-label", `Remove ${name}`);
    button.addEventListener("click", () => { request?.abort(); item.remove(); refresh(); });
    return button;
  }

  function send(field, file, most, list, say) {
    const item = document.createElement("li");
    const name = document.createElement("span");
    const note = document.createElement("small");
    const bar = document.createElement("progress");
    const request = new XMLHttpRequest();
    item.className = "file";
    name.className = "name";
    name.textContent = file.name;
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", `Uploading ${file.name}`);
    item.append(name, bar, note, removal(item, file.name, request));
    list.append(item);

    function fail(text) {
      bar.remove();
      item.classList.add("failed");
      note.textContent = text;
      say(`${file.name}: ${text}`);
    }
    function finish() {
      let reply = {};
      try { reply = JSON.parse(request.responseText); } catch { /* an answer that is not ours */ }
      if (request.status !== 201) return fail(reply.message || reply.notice?.title || "The upload failed. Please try again.");
      const kept = document.createElement("input");
      Object.assign(kept, { type: "hidden", name: field.name, value: reply.id });
      item.append(kept);
      bar.remove();
      note.textContent = size(reply.size);
      clearFault(field);
      say(`${file.name} is uploaded.`);
    }
    if (file.size > most) return fail(`This file is larger than ${size(most)}.`);
    uploading += 1;
    request.upload.addEventListener("progress", (event) => {
      bar.value = event.loaded / event.total;
      note.textContent = `${Math.round(bar.value * 100)} %`;
    });
    request.addEventListener("load", finish);
    request.addEventListener("error", () => fail("The upload failed. Please try again."));
    request.addEventListener("loadend", () => { uploading -= 1; refresh(); });
    const address = new URL(form.dataset.uploads, location.href);
    address.searchParams.set("field", field.key);
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Form-Token", form.elements.token.value);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    say(`Uploading ${file.name}`);
    request.send(file);
  }

  function size(bytes) {
    if (bytes < 1024) return `${bytes} bytes`;
    const [unit, each] = bytes >= 1048576 ? ["MB", 1048576] : ["kB", 1024];
    return `${(bytes / each).toFixed(1).replace(/\.0$/, "")} ${unit}`;
  }

  /* Nobody loses what they typed by a wrong swipe. */
  let navigating = false;
  let touched = false;
  window.addEventListener("beforeunload", (event) => { if (touched && !navigating) event.preventDefault(); });

  form.addEventListener("input", (event) => {
    touched = true;
    const field = fields.find(({ element }) => element.contains(event.target));
    if (field && field.element.classList.contains("wrong")) clearFault(field);
    refresh();
  });
  form.addEventListener("click", (event) => {
    if (!event.target.matches(".clear")) return;
    for (const input of event.target.parentElement.querySelectorAll(":checked")) input.checked = false;
    refresh();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act(event.submitter?.value || primary.value);
  });
  for (const field of fields) {
    if (field.type === "signature") readyPad(field);
    if (field.type === "file_upload") readyFiles(field);
  }
  refresh();

  function reportHeight() {
    const send = () => {
      const height = Math.ceil(document.querySelector(".page").getBoundingClientRect().height);
      window.parent.postMessage({ studiogate: "height", value: height }, "*");
    };
    new ResizeObserver(send).observe(document.querySelector(".page"));
    send();
  }
})();
