"use strict";

// The reference: Swagger UI over this server's own description, with a table of contents beside it.

const DESCRIPTION = "/partner/v1/openapi.json";
const METHODS = ["get", "post", "put", "patch", "delete"];

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
paint();
darkness.addEventListener("change", paint);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function operationsOf(spec, tag) {
  return Object.values(spec.paths).flatMap((item) =>
    METHODS.filter((method) => item[method]?.tags?.includes(tag)).map((method) => ({ method, ...item[method] })),
  );
}

function reveal(id) {
  const block = document.getElementById(id);
  if (!block) return;
  if (!block.classList.contains("is-open")) block.querySelector(".opblock-summary-control")?.click();
  block.scrollIntoView();
}

function operationLink(tag, operation) {
  const link = element("a", { href: `#/${tag}/${operation.operationId}` }, operation.summary);
  link.append(element("span", { className: "m-" + operation.method }, operation.method.toUpperCase()));
  link.addEventListener("click", (event) => {
    event.preventDefault();
    reveal(`operations-${tag}-${operation.operationId}`);
  });
  return link;
}

function headingLink(heading) {
  heading.id = "guide-" + heading.textContent.toLowerCase().replace(/[^a-z]+/g, "-");
  return element("a", { href: "#" + heading.id }, heading.textContent);
}

function listOf(links) {
  return element("ul", {}, ...links.map((link) => element("li", {}, link)));
}

function fillContents(spec) {
  // The text is rendered some time after the document is loaded.
  if (!document.querySelector("#reference .info .description h2, #reference .opblock")) {
    requestAnimationFrame(() => fillContents(spec));
    return;
  }
  const contents = document.getElementById("operations");
  const headings = [...document.querySelectorAll("#reference .info .description h2")];
  contents.append(element("a", { className: "group", href: "#content" }, "Guide"), listOf(headings.map(headingLink)));
  for (const { name } of spec.tags) {
    contents.append(
      element("a", { className: "group", href: "#operations-tag-" + name }, name),
      listOf(operationsOf(spec, name).map((operation) => operationLink(name, operation))),
    );
  }
}

async function start() {
  const answer = await fetch(DESCRIPTION);
  const spec = await answer.json();
  window.SwaggerUIBundle({
    spec,
    dom_id: "#reference",
    deepLinking: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 2,
    displayRequestDuration: true,
    // Both would leave this server: a validator badge, and keys kept in the browser's storage.
    validatorUrl: null,
    persistAuthorization: false,
    onComplete: () => fillContents(spec),
  });
}

start();
