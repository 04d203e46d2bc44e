// Fill in the time zone of this device, if nothing is typed yet.

const field = document.querySelector("[data-timezone]");
if (field && !field.value) field.defaultValue = Intl.DateTimeFormat().resolvedOptions().timeZone;
