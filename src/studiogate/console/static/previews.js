// A form with data-previews shows what another form would do, whose button it names. While a value is being changed, that
// button does nothing: what it would do is what is shown, which belongs to the value before. The answer brings a new one.

const isPreviewed = (form) => form?.matches?.("form[data-previews]");
const text = (values) => new URLSearchParams(values).toString();

document.addEventListener("input", (event) => {
  const form = event.target.form;
  const button = isPreviewed(form) && document.querySelector(form.dataset.previews);
  if (button) button.disabled = true;
});
// The answer for a value that has been changed again meanwhile is not shown.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt, formData } = event.detail.requestConfig;
  if (isPreviewed(elt) && text(formData) !== text(new FormData(elt))) event.detail.shouldSwap = false;
});
