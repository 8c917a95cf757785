// Time spent on an item: not while the page is hidden, not after a minute without a sign of life.

const IDLE_MS = 60_000;
// A recording that plays is being listened to.
const SIGNS = ["pointerdown", "pointermove", "keydown", "scroll", "touchstart", "timeupdate"];

/** Returns {read, add}: milliseconds so far, and a way to add those of an earlier visit. */
export function measureActiveTime({ signal }) {
  let total = 0;
  let since = performance.now();
  let lastSign = since;

  function settle() {
    const now = performance.now();
    if (since !== null) total += Math.max(0, Math.min(now, lastSign + IDLE_MS) - since);
    since = document.hidden ? null : now;
  }

  function sign() {
    settle();
    lastSign = performance.now();
  }

  for (const name of SIGNS) addEventListener(name, sign, { capture: true, passive: true, signal });
  document.addEventListener("visibilitychange", sign, { signal });
  return {
    read() { settle(); return Math.round(total); },
    add(milliseconds) { total += milliseconds; },
  };
}
