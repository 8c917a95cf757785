// Fills the slots of a page with panels that other addresses serve, and keeps them fresh:
// every 3 s while the page is in use, every 8 s while it is visible, every minute while it is
// hidden, and less often where the server is slow. Without this script each slot is a plain link
// to its panel, or has its panel already (data-ready).
"use strict";

const FAST = 3_000;
const VISIBLE = 5_000;
const HIDDEN = 60_000;
// A server that takes long for an answer gets at least this many times as long until the next.
const REST = 10;
const IN_USE = 30_000;

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

function show(slot, html) {
  const open = [...slot.querySelectorAll("details")].map((details) => details.open);
  const places = () => [...slot.querySelectorAll("a, button, summary")];
  const focused = places().indexOf(document.activeElement);
  slot.innerHTML = html;
  slot.querySelectorAll("details").forEach((details, n) => {
    if (n in open) details.open = open[n];
  });
  if (focused >= 0) places()[focused]?.focus({ preventScroll: true });
}

async function load(slot) {
  const response = await fetch(slot.dataset.src, { headers: { "X-Requested-With": "fetch" } });
  if (response.redirected && new URL(response.url).pathname.startsWith("/accounts/")) {
    throw new Error("You are signed out. Reload this page to sign in.");
  }
  if (!response.ok) throw new Error(`Could not load “${slot.dataset.name}”.`);
  // A token is new in every answer; the rest decides whether anything changed.
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
  const failed = results.find((result) => result.status === "rejected");
  problem = failed
    ? failed.reason instanceof TypeError
      ? "The server does not respond. Trying again."
      : failed.reason.message
    : "";
  if (!failed) updatedAt = Date.now();
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

if (slots.length && bar) {
  bar.hidden = false;
  for (const event of ["pointermove", "keydown", "scroll", "focus"]) {
    window.addEventListener(
      event,
      () => {
        usedAt = Date.now();
      },
      { passive: true },
    );
  }
  document.addEventListener("visibilitychange", () => {
    usedAt = Date.now();
  });
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
} else {
  // Pages without the bar do not change while they are open: load their panels once.
  slots.forEach((slot) => {
    load(slot).catch((error) => {
      slot.querySelector("p")?.append(` (${error.message})`);
    });
  });
}

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

document.querySelector("[data-focus]")?.focus();
