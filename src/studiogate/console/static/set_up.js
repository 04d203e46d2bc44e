// A new studio: the time zone of this device, and the country and currency that go with it, until somebody chooses
// others. The studio's settings: a colour is seen before it is saved.

const OLD_NAMES = {
  "Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu", "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Asia/Rangoon": "Asia/Yangon", "Europe/Kiev": "Europe/Kyiv", "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
};
const [zone, country, currency] = ["zone", "country", "currency"].map((name) => document.querySelector(`select[data-${name}]`));

const choose = (list, value) => {
  if (value && !list.dataset.chosen) list.value = value;
};
const follow = () => {
  choose(country, zone.selectedOptions[0]?.dataset.country);
  choose(currency, country.selectedOptions[0]?.dataset.currency);
};
if (zone) {
  for (const list of [zone, country, currency]) {
    if (list.value) list.dataset.chosen = "";
    list.addEventListener("change", () => { list.dataset.chosen = ""; follow(); });
  }
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  choose(zone, OLD_NAMES[here] || here);
  follow();
}

const typed = document.querySelector("[data-colour]");
const theme = document.querySelector("link[href$='.css'][data-theme-colour]");
if (typed && theme) {
  const picker = document.createElement("input");
  const whole = (text) => {
    const digits = text.trim().replace("#", "");
    return /^[0-9a-f]{3}$/i.test(digits) ? digits.replace(/./g, "$&$&") : digits;
  };
  const show = () => {
    const digits = whole(typed.value).toLowerCase();
    if (!/^[0-9a-f]{6}$/.test(digits)) return;
    picker.value = `#${digits}`;
    theme.href = theme.href.replace(/[0-9a-f]{6}\.css$/, `${digits}.css`);
  };
  picker.type = "color";
  picker.value = typed.placeholder;
  picker.setAttribute("aria-label", "Choose the colour");
  const both = document.createElement("div");
  both.className = "colour-both";
  typed.replaceWith(both);
  both.append(typed, picker);
  typed.addEventListener("input", show);
  picker.addEventListener("input", () => {
    typed.value = picker.value;
    typed.dispatchEvent(new Event("input", { bubbles: true }));
  });
  if (typed.value) show();
}
