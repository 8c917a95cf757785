// One item after another. Marks are kept in this browser and leave it only as a file.

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
// Labels of judges and of other people: packed, so that the source of the page does not show them.
const hidden = JSON.parse(new TextDecoder().decode(unpacked(data.hidden)));
// Pictures, sounds and films that are in this page, by what cells call them.
const files = new Map(Object.entries(data.files));
const LEVEL = 1.96;
const POWER = 0.84;
const FEWEST = 10;
let name = "";
let marks = new Map();
let order = [];
let place = 0;

function unpacked(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// A number from 0 to 1 that depends on the text alone, so that an order is the same tomorrow.
function drawn(text) {
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

// Items with one label of a person come first: a verdict needs two. The rest is random, and the same for all.
function inOrder() {
  const waits = (item) => [1, 0, 2][Math.min(hidden.people[item].length, 2)];
  return [...data.items.keys()].sort(
    (one, other) =>
      waits(one) - waits(other) ||
      drawn(data.set + data.items[one].id) - drawn(data.set + data.items[other].id),
  );
}

const key = () => `thirdperson-marks ${data.set} ${name}`;

function keep() {
  try {
    localStorage.setItem(key(), JSON.stringify([...marks]));
    at("kept").textContent = "";
  } catch {
    at("kept").textContent =
      "This browser keeps nothing of this page. Download your marks before you close it.";
  }
}

function kept() {
  try {
    return new Map(JSON.parse(localStorage.getItem(key()) ?? "[]"));
  } catch {
    return new Map();
  }
}

function begin(own, loaded) {
  name = own;
  marks = new Map([...kept(), ...loaded]);
  order = inOrder();
  place = order.findIndex((item) => !marks.has(data.items[item].id));
  at("start").hidden = true;
  at("result").hidden = false;
  keep();
  show();
}

function show() {
  const isDone = place < 0 || place >= order.length;
  at("work").hidden = isDone;
  at("done").hidden = !isDone;
  tell();
  if (isDone) {
    at("done-title").focus();
    return;
  }
  const item = data.items[order[place]];
  at("item").textContent = `Item ${place + 1} of ${order.length}`;
  at("fields").replaceChildren(
    ...item.fields.flatMap(([title, text]) => {
      const shown = element("dd", files.has(text) ? "" : text);
      if (files.has(text)) shown.append(player(text, title));
      return [element("dt", title), shown];
    }),
  );
  const labels = [...data.labels.keys()];
  // The sides of two responses are drawn anew for each item and person.
  if (data.sides.length && drawn(data.set + item.id + name) < 0.5) labels.reverse();
  at("choices").replaceChildren(
    ...labels.flatMap((label, number) => {
      const text = data.sides.length ? item.sides[label] : data.labels[label];
      const isFile = data.sides.length && files.has(text);
      // The name of a file could say whose response it is.
      const button = element("button", `${number + 1}. ${isFile ? "This response" : text}`);
      button.type = "button";
      button.setAttribute("aria-pressed", String(marks.get(item.id) === label));
      button.addEventListener("click", () => mark(item.id, label));
      return isFile ? [player(text, `Response ${number + 1}`), button] : [button];
    }),
  );
  for (const tie of data.ties) {
    const number = at("choices").querySelectorAll("button").length + 1;
    const button = element("button", `${number}. ${tie.text}`);
    button.type = "button";
    button.setAttribute("aria-pressed", String(marks.get(item.id) === tie.label));
    button.addEventListener("click", () => mark(item.id, tie.label));
    at("choices").append(button);
  }
  at("back").disabled = place === 0;
  at("item").focus();
}

// A picture, sound or film of the table, which is in this page.
function player(name, words) {
  const file = files.get(name);
  const tag = { i: "img", a: "audio", v: "video" }[file[5]];
  const node = document.createElement(tag);
  if (tag === "img") node.alt = words;
  else {
    node.controls = true;
    node.setAttribute("aria-label", words);
  }
  node.src = file;
  return node;
}

function element(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

function mark(id, label) {
  marks.set(id, label);
  keep();
  move(1);
}

function move(steps) {
  place = Math.max(0, place + steps);
  show();
}

// The words for a number of marks: in steps, so that it does not give away single labels of a judge.
function about(number) {
  const step = [1, 2, 5].flatMap((digit) => [10, 100, 1000].map((zeros) => digit * zeros));
  const next = step.sort((one, other) => one - other).find((size) => number <= size);
  return next ? `About ${next.toLocaleString("en")} more marks` : "More than 5,000 more marks";
}

function tell() {
  const total = order.length;
  at("progress").textContent = `${marks.size} of ${total} marked. ${
    marks.size < total ? "Kept in this browser." : ""
  }`;
  at("bar").value = marks.size;
  at("bar").max = total;
  at("distance").textContent = distance();
}

// How far the marks of this person are from an answer. The verdict itself is that of `check`.
function distance() {
  if (!hidden.judges.length) return "The table has no judge yet, so nothing is compared.";
  const needs = hidden.judges.map(needed).filter(Boolean);
  if (!needs.length) {
    return `After ${FEWEST} marks of items with labels of a judge, this says how many more are needed.`;
  }
  const isPaired = needs.every((need) => need.isPaired);
  const most = Math.max(...needs.map(({ more }) => more));
  const aim = isPaired
    ? `whether a judge agrees with you less often than other people do, by over ${data.epsilon * 100} points`
    : "within 5 points how often a judge agrees with you";
  const second = isPaired ? "" : " A verdict needs two people’s marks of each item.";
  if (most <= 0)
    return `Your marks are enough to show ${aim}.${second} The verdict is that of check.`;
  return `${about(most)} would show ${aim}.${second}`;
}

// How many more marks are needed: paired with other people’s labels where there are enough.
function needed(labels) {
  const gaps = [];
  const agrees = [];
  for (const [item, { id }] of data.items.entries()) {
    if (!marks.has(id) || labels[item] === null) continue;
    const own = Number(labels[item] === marks.get(id));
    agrees.push(own);
    const others = hidden.people[item];
    if (others.length) {
      const share = others.filter((label) => label === marks.get(id)).length / others.length;
      gaps.push(own - share);
    }
  }
  if (gaps.length >= FEWEST) {
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const spread = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / (gaps.length - 1);
    const away = Math.abs(mean + data.epsilon);
    const isShown = away > LEVEL * Math.sqrt(spread / gaps.length);
    const total = ((LEVEL + POWER) / Math.max(away, 1e-6)) ** 2 * spread;
    return { isPaired: true, more: isShown ? 0 : total - gaps.length };
  }
  if (agrees.length < FEWEST) return null;
  const share = (agrees.reduce((sum, own) => sum + own, 0) + 2) / (agrees.length + 4);
  const total = share * (1 - share) * (LEVEL / 0.05) ** 2;
  return { isPaired: false, more: total - agrees.length };
}

const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function table() {
  const lines = [[data.item, "annotator", "label"]];
  for (const { id } of data.items) {
    if (marks.has(id)) lines.push([id, name, data.labels.concat(tied())[marks.get(id)]]);
  }
  return lines.map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}

const tied = () => data.ties.map(({ value }) => value);

function rows(text) {
  const cells = [...text.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g)];
  const lines = [[]];
  for (const [, value, end] of cells) {
    lines.at(-1).push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value);
    if (end !== ",") lines.push([]);
  }
  return lines.filter((line) => line.length > 1);
}

async function load(file) {
  const [head = [], ...lines] = rows((await file.text()).replace(/^\ufeff/, ""));
  if (head.join() !== [data.item, "annotator", "label"].join()) {
    return `This is no file of marks: its columns are not ${data.item}, annotator and label.`;
  }
  const words = data.labels.concat(tied());
  const known = new Set(data.items.map(({ id }) => id));
  const foreign = lines.find(([id, , label]) => !known.has(id) || !words.includes(label));
  if (foreign) {
    return `These are marks of another page: it has no item “${foreign[0]}” with the label “${foreign[2]}”. Nothing was loaded.`;
  }
  const names = new Set(lines.map(([, own]) => own));
  if (names.size !== 1) return "A file of marks has one person’s marks, and this one has not.";
  begin([...names][0], new Map(lines.map(([id, , label]) => [id, words.indexOf(label)])));
  return "";
}

at("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  const own = at("name").value.trim();
  if (own) begin(own, new Map());
});
at("earlier").addEventListener("change", async () => {
  const [file] = at("earlier").files;
  if (file) at("problem").textContent = await load(file);
});
at("back").addEventListener("click", () => move(-1));
at("skip").addEventListener("click", () => move(1));
at("again").addEventListener("click", () => {
  place = 0;
  show();
});
at("download").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
  link.download = fileName();
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

const fileName = () => `marks-${name.replaceAll(/[^\p{L}\p{N}-]+/gu, "-")}.csv`;

document.addEventListener("keydown", (event) => {
  if (at("work").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft" && place > 0) move(-1);
  else if (event.key.toLowerCase() === "s") move(1);
  else at("choices").children[Number(event.key) - 1]?.click();
});

at("choose").textContent = data.sides.length ? "Choose a response:" : "Choose a label:";
at("command").textContent = `thirdperson check ${data.file} marks-*.csv --on ${data.item}`;
