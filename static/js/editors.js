// Live editors for the sum of a study, the grid of quota groups, the texts for participants, and the columns of a file.
// Without this script, a button on each page does the same.
import "./researcher.js";

const PAUSE_MS = 300;

const quota = document.querySelector("[data-quota]");
const texts = document.querySelector("[data-texts]");
const mapping = document.querySelector("[data-mapping]");

const sum = document.querySelector("[data-sum]");

if (quota) quota.addEventListener("input", () => addUp(quota));
if (sum) sum.addEventListener("input", (event) => keepSum(sum, event.target));
if (texts) {
  for (const button of texts.querySelectorAll("[data-no-script]")) button.hidden = true;
  for (const place of texts.querySelectorAll("[data-preview]")) followText(texts, place);
}
if (mapping) followMapping(mapping);

// Quota groups: the sums of rows, of columns and of all.

function addUp(form) {
  const shown = (number) => number.toLocaleString("en");
  const count = (field) => (/^\s*\d+\s*$/.test(field.value) ? Number(field.value) : 0);
  const sum = (fields) => fields.map(count).reduce((all, number) => all + number, 0);
  const put = (name, number) => {
    const place = form.querySelector(`[data-${name}]`);
    if (place) place.value = shown(number);
  };

  const rows = [...form.querySelectorAll(".targets tbody tr")]
    .map((row) => [...row.querySelectorAll("[data-target]")])
    .filter((row) => row.length);
  form.querySelectorAll("[data-row]").forEach((place, n) => {
    place.value = shown(sum(rows[n]));
  });
  form.querySelectorAll("[data-column]").forEach((place, n) => {
    place.value = shown(sum(rows.map((row) => row[n])));
  });
  put("grid", sum(rows.flat()));

  const without = form.querySelector("[data-without]");
  if (without) without.hidden = form.elements["everyone-else"].value.trim() !== "";

  const all = sum([...form.querySelectorAll("[data-target]")]);
  const needed = Number(form.dataset.needed);
  put("all", all);
  put("missing", Math.max(0, needed - all));
  put("beyond", Math.max(0, all - needed));
  const pay = form.querySelector("[data-pay]");
  pay.value = money(all, pay.dataset);
  const says = all < needed ? "missing" : all > needed ? "beyond" : "fits";
  for (const words of form.querySelectorAll("[data-says]")) {
    words.hidden = words.dataset.says !== says;
  }
}

function money(amount, { reward, currency }) {
  const words = new Intl.NumberFormat("en", { style: "currency", currency });
  return words.format((amount * reward) / 10 ** words.resolvedOptions().maximumFractionDigits);
}

// The sum of a study: annotators follow from items and answers; a number of annotators gives the items.

function keepSum(form, changed) {
  const field = (name) => form.elements[name];
  const read = (name) => Math.max(1, Number.parseInt(field(name).value, 10) || 1);
  const per = read("annotations_per_item");
  if (changed === field("people")) {
    const items = Math.floor((read("people") * read("items_per_annotator")) / per);
    field("items").value = Math.min(Number(field("items").dataset.most), items);
  } else {
    const each = Math.min(read("items_per_annotator"), read("items"));
    field("people").value = Math.max(per, Math.ceil((read("items") * per) / each));
  }
}

// Texts: each as annotators see it.

function followText(form, place) {
  const field = form.elements[place.dataset.preview];
  let timer;
  let asked = 0;

  async function load() {
    asked += 1;
    const mine = asked;
    const body = new URLSearchParams({ name: field.name, text: field.value });
    body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    try {
      const response = await fetch(form.dataset.texts, { method: "POST", body });
      if (!response.ok || response.redirected) return;
      const html = await response.text();
      if (mine === asked) place.innerHTML = html;
    } catch {
      // Without a network, the last preview stays.
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE_MS);
  });
}

// Columns: what the first rows become, and their values.

function followMapping(form) {
  const told = form.querySelector("[data-told]");
  const part = (root, name) => root.querySelector(`[data-part="${name}"]`);
  let timer;
  let asked = 0;

  async function update() {
    asked += 1;
    const mine = asked;
    part(form, "result").classList.add("is-updating");
    const body = new URLSearchParams(new FormData(form));
    body.set("update", "");
    try {
      const response = await fetch(form.action, { method: "POST", body });
      const isHere = new URL(response.url).pathname === location.pathname;
      if (!response.ok || !isHere) throw new Error();
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (mine !== asked) return;
      replace(page);
      told.textContent = "The preview is up to date.";
    } catch {
      if (mine !== asked) return;
      told.textContent = "The preview could not be updated. Press “Update the preview”.";
      part(form, "result").classList.remove("is-updating");
    }
  }

  // Keep the focus on a value.
  function replace(page) {
    const focused = document.activeElement?.id;
    for (const name of ["answers", "result"]) part(form, name).replaceWith(part(page, name));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  form.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(update, PAUSE_MS);
  });

  // A button that is replaced while it is pressed would lose the click.
  form.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("button")) return;
    clearTimeout(timer);
    asked += 1;
    part(form, "result").classList.remove("is-updating");
  });
}
