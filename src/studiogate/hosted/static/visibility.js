/* Which fields are visible for given answers: domain/forms/visibility.py once more, for the browser. Both are held
   against one table of cases and against each other on random forms (tests/browser/test_visibility.py).

   A field is {key, type, rule}; a rule is [asked key, op, values as texts] or null. */
"use strict";
(function () {
  // What Python's str.strip() takes away; trim() differs in a few characters.
  const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  const ENDS = new RegExp("^" + SPACE + "|" + SPACE + "$", "g");
  const DECIMAL = /^([+-]?)(?:(\d{1,40})(?:\.(\d{0,40}))?|\.(\d{1,40}))(?:[eE]([+-]?\d{1,2}))?$/;
  const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
  const BOXES = ["checkbox", "consent"];
  const NUMERIC = ["number", "rating"];

  const strip = (text) => text.replace(ENDS, "");

  /* A decimal as {whole, shift}: whole * 10^-shift, without loss. */
  function asDecimal(text) {
    const found = DECIMAL.exec(strip(text));
    if (!found) return null;
    const fraction = found[3] ?? found[4] ?? "";
    const whole = BigInt((found[2] ?? "") + fraction || "0");
    return { whole: found[1] === "-" ? -whole : whole, shift: fraction.length - Number(found[5] ?? 0) };
  }

  function compareDecimals(one, other) {
    const shift = Math.max(one.shift, other.shift);
    const [a, b] = [one, other].map((each) => each.whole * 10n ** BigInt(shift - each.shift));
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function asDate(text) {
    const found = DATE.exec(strip(text));
    if (!found) return null;
    const [year, month, day] = found.slice(1).map(Number);
    if (year < 1 || month < 1 || month > 12 || day < 1) return null;
    const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    return day <= days[month - 1] ? found[0] : null;
  }

  /* Numbers compare as decimals, dates as dates; what is neither stays the text it is. */
  function comparable(text, type) {
    const decimal = NUMERIC.includes(type) ? asDecimal(text) : null;
    if (decimal) return { kind: "decimal", value: decimal };
    const date = type === "date" ? asDate(text) : null;
    return date ? { kind: "date", value: date } : { kind: "text", value: text };
  }

  function same(one, other) {
    if (one.kind !== other.kind) return false;
    return one.kind === "decimal" ? compareDecimals(one.value, other.value) === 0 : one.value === other.value;
  }

  const within = (list, each) => list.some((other) => same(each, other));
  const equals = (given, wanted) => given.every((e) => within(wanted, e)) && wanted.every((e) => within(given, e));
  const anyIn = (given, wanted) => given.some((each) => within(wanted, each));

  function contains(given, wanted) {
    const part = (each) => given.length === 1 && given[0].kind === "text" && each.kind === "text"
      && given[0].value.includes(each.value);
    return given.length > 0 && wanted.length > 0 && wanted.every((each) => within(given, each) || part(each));
  }

  function inOrder(one, other) {
    for (const [kind, parse] of [["decimal", asDecimal], ["date", asDate]]) {
      const pair = [one, other].map((e) => (e.kind === "text" ? parse(e.value) : e.kind === kind ? e.value : null));
      if (pair[0] !== null && pair[1] !== null) {
        return kind === "decimal" ? compareDecimals(...pair) : pair[0] < pair[1] ? -1 : pair[0] > pair[1] ? 1 : 0;
      }
    }
    return null;
  }

  function ordered(test) {
    return (given, wanted) => {
      if (given.length !== 1 || wanted.length !== 1) return false;
      const order = inOrder(given[0], wanted[0]);
      return order !== null && test(order);
    };
  }

  const TESTS = {
    equals,
    not_equals: (given, wanted) => !equals(given, wanted),
    in: anyIn,
    not_in: (given, wanted) => !anyIn(given, wanted),
    contains,
    not_contains: (given, wanted) => !contains(given, wanted),
    gt: ordered((order) => order > 0),
    gte: ordered((order) => order >= 0),
    lt: ordered((order) => order < 0),
    lte: ordered((order) => order <= 0),
    is_empty: (given) => given.length === 0,
    is_not_empty: (given) => given.length > 0,
  };

  const withoutUnticked = (type, values) => (BOXES.includes(type) ? values.filter((e) => e !== "false") : values);

  function givenValues(type, answer) {
    const values = typeof answer === "string" ? [answer] : Array.isArray(answer) ? answer : [];
    return withoutUnticked(type, values.filter((each) => typeof each === "string" && strip(each)));
  }

  function holds(rule, type, answer) {
    const [, op, values] = rule;
    if (!Object.hasOwn(TESTS, op) || type === "section_break") return false;
    const given = givenValues(type, answer).map((each) => comparable(each, type));
    const wanted = withoutUnticked(type, values).map((each) => comparable(each, type));
    return TESTS[op](given, wanted);
  }

  function visibleKeys(fields, answers) {
    const byKey = new Map();
    for (const field of fields) if (!byKey.has(field.key)) byKey.set(field.key, field);
    const known = new Map();

    // From rule to rule until something is known, then decided on the way back. Fields on a cycle are hidden.
    function settle(start) {
      const way = [];
      let key = start;
      while (byKey.has(key) && !known.has(key)) {
        const place = way.indexOf(key);
        if (place >= 0) {
          way.slice(place).forEach((each) => known.set(each, false));
          break;
        }
        way.push(key);
        const rule = byKey.get(key).rule;
        if (!rule) break;
        key = rule[0];
      }
      for (const each of way.reverse()) {
        if (known.has(each)) continue;
        const rule = byKey.get(each).rule;
        const asked = rule && byKey.get(rule[0]);
        known.set(each, !rule || holds(rule, asked?.type, known.get(rule[0]) ? answers[rule[0]] : null));
      }
    }

    for (const key of byKey.keys()) settle(key);
    return new Set([...known].filter(([, visible]) => visible).map(([key]) => key));
  }

  globalThis.studiogateVisibility = { visibleKeys, strip };
})();
