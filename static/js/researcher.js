// Parts of researchers' pages: panels that refresh, a job's progress, texts to copy, and a place
// where reading starts. Without this script each is a plain link or a reload.

const FAST = 3_000;
const VISIBLE = 5_000;
const HIDDEN = 60_000;
// After a slow response, wait at least this many times as long before the next request.
const REST = 10;
const IN_USE = 30_000;
const FOLLOWED = 2_000;

// Panels: slots that other addresses fill. They are fetched every 3 s while the page is in use,
// every 5 s while it is visible, every minute while it is hidden, and less often if the server is
// slow. A slot may contain its panel from the start (data-ready).

const slots = [...document.querySelectorAll("[data-src]")];
const bar = document.querySelector("[data-refresh]");
let usedAt = Date.now();
let updatedAt = null;
let startedAt = 0;
let took = 0;
let loading = false;
let paused = false;
let problem = "";

// Do not replace a form while someone fills it in.
function isBusy(slot) {
  const focus = document.activeElement;
  return slot.contains(focus) && focus.matches("input, select, textarea");
}

// Open, focused and scrolled elements stay so.
function show(slot, html) {
  const open = [...slot.querySelectorAll("details")].map((details) => details.open);
  const scrolled = [...slot.querySelectorAll(".scroll")].map((region) => region.scrollLeft);
  const places = () => [...slot.querySelectorAll("a, button, summary")];
  const focus = slot.contains(document.activeElement) ? document.activeElement : null;
  const focused = places().indexOf(focus);
  slot.innerHTML = html;
  slot.querySelectorAll("details").forEach((details, n) => {
    if (n in open) details.open = open[n];
  });
  slot.querySelectorAll(".scroll").forEach((region, n) => {
    region.scrollLeft = scrolled[n] ?? 0;
  });
  const place = focus?.id ? document.getElementById(focus.id) : places()[focused];
  place?.focus({ preventScroll: true });
}

async function load(slot) {
  const response = await fetch(slot.dataset.src, { headers: { "X-Requested-With": "fetch" } });
  if (response.redirected && new URL(response.url).pathname.startsWith("/accounts/")) {
    throw new Error("You are signed out. Reload this page to sign in.");
  }
  if (!response.ok) throw new Error(`Could not load “${slot.dataset.name}”.`);
  // CSRF tokens are new in every response; only the rest shows whether anything changed.
  const html = await response.text();
  const bare = html.replace(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
  if (slot.bare === bare || isBusy(slot)) return;
  show(slot, html);
  slot.bare = bare;
}

async function refresh() {
  loading = true;
  startedAt = Date.now();
  const results = await Promise.allSettled(slots.map(load));
  const reason = results.find((result) => result.status === "rejected")?.reason;
  problem = reason?.message ?? "";
  if (reason instanceof TypeError) problem = "The server does not respond. Trying again.";
  if (!reason) updatedAt = Date.now();
  loading = false;
  took = Date.now() - startedAt;
  tell();
}

function tell() {
  const parts = [];
  if (updatedAt) parts.push(`Updated ${Math.round((Date.now() - updatedAt) / 1000)} s ago`);
  if (problem) parts.push(problem);
  bar.querySelector("[data-updated]").textContent = parts.join(". ") || "Loading …";
}

function wait() {
  if (document.visibilityState !== "visible") return HIDDEN;
  return Date.now() - usedAt < IN_USE ? FAST : VISIBLE;
}

function tick() {
  if (!paused && !loading && Date.now() - startedAt >= Math.max(wait(), REST * took)) refresh();
  tell();
}

function keepFresh() {
  bar.hidden = false;
  const use = () => {
    usedAt = Date.now();
  };
  for (const event of ["pointermove", "keydown", "scroll", "focus"]) {
    window.addEventListener(event, use, { passive: true });
  }
  document.addEventListener("visibilitychange", use);
  const pause = bar.querySelector("[data-pause]");
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) refresh();
  });
  if (slots.every((slot) => "ready" in slot.dataset)) {
    startedAt = updatedAt = Date.now();
    tell();
  } else {
    refresh();
  }
  setInterval(tick, 1_000);
}

// Pages without the refresh bar do not change while open: their panels are loaded once.
async function loadOnce(slot) {
  try {
    await load(slot);
  } catch (error) {
    slot.querySelector("p")?.append(` (${error.message})`);
  }
}

// A slot with something in progress is fetched again until that ends. Text being read stays.
function followOpen(slot) {
  const count = () => slot.querySelectorAll("[data-open]").length;
  const before = count();
  if (!before) return;
  setTimeout(async () => {
    // A server that is restarting or unreachable is asked again.
    if (!slot.querySelector("details[open]")) await load(slot).catch(() => {});
    if (count() < before)
      document.getElementById(slot.dataset.news).textContent = slot.dataset.over;
    followOpen(slot);
  }, FOLLOWED);
}

if (slots.length && bar) keepFresh();
else for (const slot of slots) (slot.dataset.over ? followOpen : loadOnce)(slot);

// A job's page is reloaded when the job has ended.
function followJob(box) {
  setTimeout(async () => {
    try {
      const response = await fetch(box.dataset.status, { headers: { Accept: "application/json" } });
      if (response.ok) {
        const { open, progress, message } = await response.json();
        if (!open) return location.reload();
        box.querySelector("progress").value = progress;
        const said = box.querySelector("[role=status]");
        if (said.textContent !== message) said.textContent = message;
      }
    } catch (error) {
      // The server is restarting or the network is down: try again later.
      if (!(error instanceof TypeError)) throw error;
    }
    followJob(box);
  }, FOLLOWED);
}

const job = document.getElementById("job");
if (job) followJob(job);

for (const button of document.querySelectorAll("[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  field.addEventListener("focus", () => field.select());
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
}

// The number and the money of the people who are ticked in a form.
for (const total of document.querySelectorAll("[data-total]")) {
  const money = new Intl.NumberFormat("en", { style: "currency", currency: total.dataset.total });
  const boxes = [...total.form.querySelectorAll("[data-amount]")];
  const add = () => {
    const ticked = boxes.filter((box) => box.checked);
    const sum = ticked.reduce((before, box) => before + Number(box.dataset.amount), 0);
    total.value = `${ticked.length} selected, ${money.format(sum)}`;
  };
  total.form.addEventListener("change", add);
  add();
}

// On phones the lists of places scroll sideways: the current one is in view.
for (const place of document.querySelectorAll(".sections, .section-pages")) {
  const list = place.querySelector("ul");
  const current = list?.querySelector("[aria-current]");
  if (current) list.scrollLeft = current.offsetLeft - list.offsetLeft - 16;
}

// Forms whose changes are lost when the page is left: the browser asks first.
for (const form of document.querySelectorAll("form[data-unsaved]")) {
  const state = () => new URLSearchParams(new FormData(form)).toString();
  const saved = form.dataset.unsaved === "changed" ? null : state();
  let isSent = false;
  form.addEventListener("submit", () => {
    isSent = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!isSent && state() !== saved) event.preventDefault();
  });
}

document.querySelector("[data-focus]")?.focus();
