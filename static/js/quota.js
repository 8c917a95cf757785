// Adds up the grid of quota groups while numbers are typed. The button “Work out” does the same.
"use strict";

const form = document.querySelector("[data-quota]");

const shown = (number) => number.toLocaleString("en");
const count = (field) => (/^\s*\d+\s*$/.test(field.value) ? Number(field.value) : 0);
const sum = (fields) => fields.map(count).reduce((all, number) => all + number, 0);

function money(amount, { reward, currency }) {
  const words = new Intl.NumberFormat("en", { style: "currency", currency });
  return words.format((amount * reward) / 10 ** words.resolvedOptions().maximumFractionDigits);
}

function addUp() {
  const rows = [...form.querySelectorAll(".targets tbody tr")]
    .map((row) => [...row.querySelectorAll("[data-target]")])
    .filter((row) => row.length);
  const fields = rows.flat();
  const put = (name, number) => {
    const place = form.querySelector(`[data-${name}]`);
    if (place) place.value = shown(number);
  };
  form.querySelectorAll("[data-row]").forEach((place, n) => {
    place.value = shown(sum(rows[n]));
  });
  form.querySelectorAll("[data-column]").forEach((place, n) => {
    place.value = shown(sum(rows.map((row) => row[n])));
  });
  put("grid", sum(fields));

  const without = form.querySelector("[data-without]");
  if (without) without.hidden = form.elements["everyone-else"].value.trim() !== "";

  const all = sum([...form.querySelectorAll("[data-target]")]);
  const needed = Number(form.dataset.needed);
  put("all", all);
  put("missing", Math.max(0, needed - all));
  put("beyond", Math.max(0, all - needed));
  const pay = form.querySelector("[data-pay]");
  pay.value = money(all, pay.dataset);
  for (const words of form.querySelectorAll("[data-says]")) {
    const says = all < needed ? "missing" : all > needed ? "beyond" : "fits";
    words.hidden = words.dataset.says !== says;
  }
}

form?.addEventListener("input", addUp);
