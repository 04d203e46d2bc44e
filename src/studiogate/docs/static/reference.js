// The reference works without this file: it adds a form to each operation that sends the request from this page, to this
// server only. The key stays in this tab: it is sent with the requests, and forgotten when the tab is closed.

const BASE = "/partner/v1";
const KEY = "studiogate.docs.key";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function storedKey() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is switched off: the key is typed for each request
  }
}

function storeKey(key) {
  try {
    sessionStorage.setItem(KEY, key);
  } catch {
    // the field keeps it
  }
}

let fields = 0;

function field(label, control, required) {
  control.id = `try-${++fields}`;
  control.required = required;
  const text = element("label", { htmlFor: control.id }, label);
  if (!required) text.append(element("span", { className: "note" }, " (optional)"));
  return element("div", { className: "field" }, text, control);
}

function controlOf({ name, values }) {
  if (values) {
    const options = ["", ...values.split(" ")].map((value) => element("option", { value }, value));
    return element("select", { name }, ...options);
  }
  const value = name === "Idempotency-Key" ? crypto.randomUUID() : "";
  return element("input", { name, value, autocomplete: "off", spellcheck: false });
}

function formOf(operation) {
  const { method, path, body } = operation.dataset;
  const form = element("form", { className: "try", noValidate: false });
  const key = element("input", { type: "password", value: storedKey(), autocomplete: "off" });
  const inputs = [...operation.querySelectorAll(".members > li[data-place]")].map((each) => ({
    place: each.dataset.place,
    required: "required" in each.dataset,
    control: controlOf(each.dataset),
  }));
  const text = body && element("textarea", { value: body, spellcheck: false });
  form.append(field("Service key", key, true));
  for (const { control, required } of inputs) form.append(field(control.name, control, required));
  if (text) form.append(field("Body", text, true));
  if (method !== "GET") form.append(element("p", { className: "note" }, "This changes data of the studio that the key belongs to."));
  const send = element("button", { className: "button primary small" }, "Send");
  const outcome = element("span", { role: "status" });
  const result = element("pre", { tabIndex: 0, hidden: true });
  form.append(element("div", { className: "actions" }, send, outcome), result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    storeKey(key.value);
    send.disabled = true;
    outcome.textContent = "Sending …";
    const given = inputs.filter(({ control }) => control.value !== "");
    const of = (place) => given.filter((each) => each.place === place).map(({ control }) => [control.name, control.value]);
    const filled = of("path").reduce((made, [name, value]) => made.replace(`{${name}}`, encodeURIComponent(value)), path);
    const query = new URLSearchParams(of("query")).toString();
    const headers = { ...Object.fromEntries(of("header")), "X-Service-Key": key.value };
    if (text) headers["Content-Type"] = "application/json";
    const started = performance.now();
    try {
      const answer = await fetch(BASE + filled + (query && `?${query}`), { method, headers, body: text?.value });
      const said = await answer.text();
      outcome.textContent = `${answer.status} ${answer.statusText}, ${Math.round(performance.now() - started)} ms`;
      result.textContent = pretty(said);
      result.hidden = said === "";
    } catch (error) {
      outcome.textContent = `Not sent: ${error.message}`;
      result.hidden = true;
    }
    send.disabled = false;
  });
  return form;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

for (const operation of document.querySelectorAll(".operation[data-method]")) {
  const panel = operation.querySelector(".request");
  if (operation.querySelector('[data-name="file"]')) continue;
  const button = element("button", { type: "button", className: "button small", ariaExpanded: "false" }, "Try it");
  let form = null;
  button.addEventListener("click", () => {
    if (form === null) panel.append((form = formOf(operation)));
    else form.hidden = !form.hidden;
    button.ariaExpanded = String(!form.hidden);
    if (!form.hidden) form.querySelector("input").focus();
  });
  panel.querySelector(".bar").append(button);
}
