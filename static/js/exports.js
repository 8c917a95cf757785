// Follows exports that are being written: fetches the table again and keeps the rest of the page.
"use strict";

const box = document.getElementById("exports");
const news = document.getElementById("export-news");
const EVERY_MS = 2000;

function openCount() {
  return box.querySelectorAll("[data-open]").length;
}

async function look() {
  try {
    const response = await fetch(box.dataset.table, { headers: { Accept: "text/html" } });
    if (response.ok && !response.redirected) show(await response.text());
  } catch (error) {
    // The server is being restarted or the network is gone: try again later.
    if (!(error instanceof TypeError)) throw error;
  }
  follow();
}

function show(html) {
  const before = openCount();
  const focused = box.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolled = box.querySelector(".scroll")?.scrollLeft ?? 0;
  const opened = box.querySelector("details[open]");
  if (opened) return; // Do not close a checksum that is open.
  box.innerHTML = html;
  if (focused) document.getElementById(focused)?.focus();
  const region = box.querySelector(".scroll");
  if (region) region.scrollLeft = scrolled;
  if (openCount() < before) news.textContent = "An export has finished.";
}

function follow() {
  if (openCount()) window.setTimeout(look, EVERY_MS);
}

document.querySelector(".error-summary")?.focus();
follow();
