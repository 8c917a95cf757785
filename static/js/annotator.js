// The item page works without this file. It adds the slider, places of a set, drafts, shortcuts,
// active time, sheets, answers that wait for the network, and the next item without another
// request.
import { followHistory, keepDraft, sendUntilStored, showItem } from "./annotator-sending.js";

// Time spent on an item: not while the page is hidden, nor after a minute without activity.

const IDLE_MS = 60_000;
// A playing recording counts as activity.
const SIGNS = ["pointerdown", "pointermove", "keydown", "scroll", "touchstart", "timeupdate"];

/** Returns {read, add}: the milliseconds so far, and adding those of an earlier visit. */
function measureActiveTime({ signal }) {
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
    read() {
      settle();
      return Math.round(total);
    },
    add(milliseconds) {
      total += milliseconds;
    },
  };
}

// What programs do differently from people, if the study measures it: only counts and durations.

function countSigns(form, { signal }) {
  const field = form.elements.signals;
  if (!field) return;
  const counts = { hidden_ms: 0, away_ms: 0, left: 0, copies: 0, pastes: 0, moves: 0, presses: 0 };
  Object.assign(counts, { touches: 0, keys: 0, scripted: 0, driven: navigator.webdriver ? 1 : 0 });
  let since = performance.now();
  let wasHidden = document.hidden;
  let wasAway = wasHidden || !document.hasFocus();

  function look() {
    const now = performance.now();
    if (wasHidden) counts.hidden_ms += now - since;
    if (wasAway) counts.away_ms += now - since;
    since = now;
    const isAway = document.hidden || !document.hasFocus();
    if (isAway && !wasAway) counts.left += 1;
    wasHidden = document.hidden;
    wasAway = isAway;
  }

  function count(type, nameOf) {
    const add = (event) => {
      // This page itself presses the button for some keys.
      if (!event.isTrusted && event.target !== form.elements.submit) counts.scripted += 1;
      const name = event.isTrusted && nameOf(event);
      if (name) counts[name] += 1;
    };
    addEventListener(type, add, { capture: true, passive: true, signal });
  }

  count("copy", () => "copies");
  count("cut", () => "copies");
  count("paste", () => "pastes");
  count("keydown", () => "keys");
  count("click", () => "");
  count("input", () => "");
  count("pointermove", ({ pointerType }) => pointerType === "mouse" && "moves");
  count("pointerdown", ({ pointerType }) => (pointerType === "mouse" ? "presses" : "touches"));
  for (const name of ["blur", "focus"]) addEventListener(name, look, { signal });
  document.addEventListener("visibilitychange", look, { signal });
  form.addEventListener("submit", () => {
    look();
    const whole = Object.entries(counts).map(([name, value]) => [name, Math.round(value)]);
    field.value = JSON.stringify(Object.fromEntries(whole));
  });
}

// A browser or extension that translates the page changes words that people are asked about.

/** Mount before what sends the form, and after what changes texts of the item. */
function noticeTranslation(form) {
  const field = form.elements.translated;
  if (!field) return;
  const texts = [...form.querySelectorAll("[data-profile], .imported")];
  const before = texts.map((text) => text.textContent);

  function found() {
    const isChanged = (text, n) => text.textContent !== before[n] || text.querySelector("font");
    if (texts.some(isChanged)) return "texts";
    const { className, lang } = document.documentElement;
    const isMarked = /\btranslated-(ltr|rtl)\b/.test(className) || lang !== form.dataset.language;
    return isMarked || document.querySelector("#main font, [_msttexthash]") ? "page" : "";
  }

  form.addEventListener("submit", () => {
    field.value = found();
  });
}

// Long texts begin folded, so that what comes after them is within reach.

/** The responses unfold together: none is ahead. Without this file everything is shown. */
function mountFolds(form) {
  for (const part of form.querySelectorAll("[data-fold]")) {
    part.classList.add("is-clipped");
    const texts = part.matches(".cards") ? [...part.querySelectorAll(".card-text")] : [part];
    if (!texts.some((text) => text.scrollHeight > text.clientHeight + 1)) {
      part.classList.remove("is-clipped");
      continue;
    }
    // A search in the page scrolls to what is hidden.
    const opened = unfoldBy(part, part.dataset.fold, () => part.classList.remove("is-clipped"));
    part.addEventListener("scroll", opened, { capture: true, once: true });
  }
  const profile = form.querySelector("[data-more]");
  if (!profile) return;
  profile.classList.add("is-short");
  unfoldBy(profile, profile.dataset.more, () => profile.classList.remove("is-short"));
}

/** A button after the part; returns what a press of it does. */
function unfoldBy(part, words, open) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button-secondary unfold";
  button.textContent = words;
  part.after(button);
  const opened = () => {
    open();
    const hadFocus = document.activeElement === button;
    button.remove();
    part.tabIndex = -1;
    if (hadFocus) part.focus({ preventScroll: true });
  };
  button.addEventListener("click", opened);
  return opened;
}

// A slider next to the number box; both stay in step, and neither has a starting value.

const STEPS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
};

/** Digits of Arabic and Persian keyboards as those that the page writes. */
const westernDigits = (text) =>
  text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => digit.charCodeAt(0) & 15);

/** Typed text as a whole number from 1 to 100, or null. */
function readCertainty(text) {
  const match = /^\s*(\d{1,3})\s*[%\u066a]?\s*$/.exec(westernDigits(text));
  const value = match ? Number(match[1]) : 0;
  return value >= 1 && value <= 100 ? value : null;
}

function readBands() {
  return [...document.querySelectorAll("[data-low]")].map((row) => ({
    low: Number(row.dataset.low),
    high: Number(row.dataset.high),
    name: row.querySelector("[data-name]").textContent,
    definition: row.querySelector("[data-definition]").textContent,
  }));
}

function makeRange(place) {
  const range = document.createElement("input");
  range.type = "range";
  range.min = 1;
  range.max = 100;
  range.setAttribute("aria-label", place.dataset.label);
  const low = document.createElement("span");
  const high = document.createElement("span");
  low.textContent = "1";
  high.textContent = "100";
  for (const end of [low, high]) end.setAttribute("aria-hidden", "true");
  place.append(low, range, high);
  place.classList.add("is-ready");
  return range;
}

/** A part of the text that the style sheet hides if there is no room. */
function part(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}

function mountRange(range, box, { set, show }) {
  range.addEventListener("keydown", (event) => {
    const unset = range.classList.contains("unset");
    if (event.key === "Home") set(1);
    else if (event.key === "End") set(100);
    else if (event.key in STEPS) set(unset ? 50 : Number(range.value) + STEPS[event.key]);
    else return;
    event.preventDefault();
  });

  // A thumb that starts on the slider and then scrolls the page must not change it: the browser
  // cancels the pointer when it takes over the gesture.
  let before = null;
  let scrolling = false;
  range.addEventListener("pointerdown", () => {
    before = readCertainty(box.value);
    scrolling = false;
  });
  range.addEventListener("pointercancel", () => {
    scrolling = true;
    box.value = before ?? "";
    show(before);
    box.dispatchEvent(new Event("change", { bubbles: true }));
  });
  range.addEventListener("input", () => {
    if (!scrolling) set(Number(range.value));
  });
  // A click exactly on the hidden thumb changes nothing and fires no input event.
  range.addEventListener("click", () => {
    if (!scrolling) set(Number(range.value));
  });
}

/** Mount the slider, if the study has one, and show the level of the typed number.
    Returns {show}, or null where the study asks for no certainty. */
function mountCertainty(form) {
  const box = form.elements.certainty;
  if (!box) return null;
  const place = form.querySelector("[data-slider]");
  const band = form.querySelector("[data-band]");
  const spoken = form.querySelector("[data-band-spoken]");
  const bands = readBands();
  const range = place && makeRange(place);
  let speaking;

  function show(value) {
    const found = bands.find(({ low, high }) => value >= low && value <= high);
    if (range) {
      range.classList.toggle("unset", value === null);
      range.setAttribute("aria-valuetext", found ? `${value}, ${found.name}` : place.dataset.unset);
      if (found) range.value = value;
    }
    band.textContent = "";
    band.parentElement.classList.toggle("is-named", value !== null);
    if (value !== null) {
      const name = document.createElement("b");
      name.textContent = found.name;
      const bounds = part("band-long", `(${found.low}–${found.high})`);
      bounds.dir = "ltr";
      band.append(
        part("band-long", `${value}, `),
        name,
        part("band-long", " "),
        bounds,
        part("band-meaning", `: ${found.definition}`),
      );
    }
    // Screen readers announce the level after a pause, not at every step.
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      spoken.textContent = found ? `${value}, ${found.name}` : "";
    }, 600);
  }

  function set(value) {
    const limited = Math.min(100, Math.max(1, value));
    box.value = limited;
    form.elements.control.value = "slider";
    show(limited);
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  if (range) mountRange(range, box, { set, show });
  for (const level of form.querySelectorAll("[name=level]")) {
    level.addEventListener("change", () => {
      form.querySelector("[data-hint]").textContent = level.dataset.range;
    });
  }
  box.addEventListener("input", () => {
    form.elements.control.value = "number";
    show(readCertainty(box.value));
  });
  show(readCertainty(box.value));
  return { show: () => show(readCertainty(box.value)) };
}

// Places of the responses of a set: each place once, the order so far, and shortcuts.

/** Returns {show, isComplete, press}, or null if the page shows two responses to choose from. */
function mountPlaces(form) {
  const groups = [...form.querySelectorAll("[data-places]")];
  if (!groups.length) return null;
  const columns = form.querySelector(".columns");
  const spoken = form.querySelector("[data-places-spoken]");
  const orders = form.querySelectorAll("[data-order]");

  const chosen = (group) => group.querySelector(":checked");
  const radios = (group) => [...group.querySelectorAll("input")];
  const holder = (place) => groups.find((group) => chosen(group)?.value === place);
  const isComplete = () => groups.every(chosen);

  function show() {
    const letters = groups.map(
      (_, n) => holder(String(n + 1))?.dataset.places.toUpperCase() ?? "–",
    );
    for (const order of orders) {
      order.textContent = letters.join(" › ");
      order.closest("[hidden]")?.removeAttribute("hidden");
    }
    columns.classList.toggle("is-ranked", isComplete());
  }

  function say(sentence, group, place = "") {
    return spoken.dataset[sentence].replace("{name}", group.dataset.name).replace("{place}", place);
  }

  function free(group) {
    const radio = chosen(group);
    radio.checked = false;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function give(group, place) {
    const radio = radios(group)[place - 1];
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  for (const group of groups) {
    group.addEventListener("change", ({ target }) => {
      show();
      if (!target.checked) return;
      const sentences = [say("placed", group, target.labels[0].textContent.trim())];
      for (const other of groups) {
        if (other === group || chosen(other)?.value !== target.value) continue;
        free(other);
        sentences.push(say("freed", other));
      }
      spoken.textContent = sentences.join(" ");
    });
  }

  /** A letter gives its response the next free place or clears it; a digit is a place. */
  function press(key, target) {
    const named = groups.find((group) => group.dataset.places === key);
    if (named && chosen(named)) {
      radios(named)[0].focus();
      free(named);
      spoken.textContent = say("freed", named);
    } else if (named) {
      const next = groups.findIndex((_, n) => !holder(String(n + 1)));
      give(named, next + 1);
    } else {
      const group = target.closest?.("[data-places]");
      if (!group || !/^[1-9]$/.test(key) || Number(key) > groups.length) return false;
      give(group, Number(key));
    }
    return true;
  }

  show();
  return { show, isComplete, press };
}

// Sheets over the page: the profile and the help.

/** Open a sheet at its beginning: a browser would focus its first button, which is the last
    thing on it. Browsers that know no dialogs show it as any other part of the page. */
function openSheet(name) {
  const sheet = document.getElementById(`${name}-dialog`);
  if (sheet.showModal) sheet.showModal();
  else sheet.setAttribute("open", "");
  sheet.querySelector("h2").focus();
  sheet.scrollTop = 0;
}

function mountSheets() {
  const profile = document.querySelector("[data-profile]");
  // People who answer for themselves see no profile.
  if (profile) document.querySelector("[data-profile-copy]").append(profile.cloneNode(true));
  for (const link of document.querySelectorAll("[data-opens]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openSheet(link.dataset.opens);
    });
  }
  for (const sheet of document.querySelectorAll("dialog.sheet")) {
    if (sheet.close) continue;
    sheet.querySelector("[method=dialog]").addEventListener("submit", (event) => {
      event.preventDefault();
      sheet.removeAttribute("open");
    });
  }
}

// Pictures and recordings that did not load: nobody should answer without them unknowingly.

const isMissing = (medium) =>
  medium.matches("img") ? !(medium.complete && medium.naturalWidth) : medium.error !== null;

/** Mount before what else listens to the form's submission. Returns {letPass}, for an answer that
    was given at an earlier visit and still has to be sent. */
function mountMedia(form) {
  // On a page that a script has replaced, these would be duplicate boxes of the same name.
  for (const part of form.querySelectorAll("noscript")) part.remove();
  const notice = form.querySelector("[data-media-missing]");
  if (!notice) return { letPass() {} };
  const media = [...form.querySelectorAll(".medium img, .medium audio, .medium video")];
  const box = notice.querySelector("[name=media_missing]");
  const status = notice.querySelector("[data-media-status]");
  let passes = false;
  let tries = 0;

  function show() {
    const missing = media.some((medium) => isMissing(medium));
    notice.hidden = !missing;
    if (!missing) box.checked = false;
    return missing;
  }

  function load(medium) {
    if (!isMissing(medium)) return;
    if (!medium.matches("img")) return medium.load();
    medium.loading = "eager"; // Also media that nobody has scrolled to yet.
    if (medium.complete) medium.src = medium.getAttribute("src");
  }

  for (const medium of media) {
    for (const name of ["load", "loadedmetadata"]) {
      medium.addEventListener(name, () => {
        if (!notice.hidden) show();
      });
    }
    medium.addEventListener("error", () => {
      show();
      if (tries) status.textContent = status.dataset.failed;
    });
  }
  notice.querySelector("[data-load-again]").addEventListener("click", () => {
    tries += 1;
    status.textContent = "";
    media.forEach(load);
  });
  form.addEventListener("submit", (event) => {
    const isKnown = passes || box.checked;
    passes = false;
    if (isKnown || !show()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    media.filter((medium) => medium.loading === "lazy").forEach(load);
    status.textContent = status.dataset.choose;
    notice.focus();
  });
  // Media that failed before this script was loaded.
  if (media.some((medium) => isMissing(medium) && (medium.complete || medium.error))) show();
  return {
    letPass() {
      passes = true;
    },
  };
}

// One-letter shortcuts: never inside a text field, and everybody can switch them off.

const SWITCH = "thirdperson:shortcuts";
const RADIOS = { a: "choice-a", 1: "choice-a", b: "choice-b", 2: "choice-b", t: "choice-tie" };

function enabled() {
  try {
    return localStorage.getItem(SWITCH) !== "off";
  } catch {
    return true;
  }
}

function mountSwitch() {
  for (const box of document.querySelectorAll("[data-shortcuts]")) {
    box.closest("[hidden]")?.removeAttribute("hidden");
    box.checked = enabled();
    box.addEventListener("change", () => {
      try {
        localStorage.setItem(SWITCH, box.checked ? "on" : "off");
      } catch {
        box.checked = true; // The choice cannot be stored, so undo it.
      }
    });
  }
}

/** The key as a keyboard with Latin letters has it, for shortcuts on any other keyboard. */
function keyOf({ key, code }) {
  if (key === "؟") return "?";
  const position = /^(?:Key|Digit)(\w)$/.exec(code);
  const isLatin = !/[^ -\u024f]/.test(key);
  return (isLatin || !position ? key : position[1]).toLowerCase();
}

const isDigit = (key) => /^[0-9]$/.test(key);

function takesCertainty(form, places) {
  if (!form.elements.certainty) return false;
  return places ? places.isComplete() : ["a", "b"].includes(form.elements.choice.value);
}

function choose(radio) {
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

/** The option of a key in the group of added questions that has the focus. */
function optionOf(key, target) {
  const group = target.closest?.("[data-added] fieldset");
  return group?.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/** The first control of an added question that is in view of the annotator and has no answer. */
function nextAdded(form) {
  const groups = [...form.querySelectorAll("[data-added] fieldset, [data-added] input[type=text]")];
  const isOpen = (group) =>
    group.offsetParent &&
    (group.matches("input") ? !group.value : !group.querySelector(":checked"));
  const group = groups.find(isOpen);
  return group?.matches("fieldset") ? group.querySelector("input") : group;
}

function mountShortcuts(form, { places, signal }) {
  mountSwitch();
  document.addEventListener(
    "keydown",
    (event) => {
      const typing = event.target.matches("input[type=text], textarea, select");
      const busy =
        event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
      const unseen = form.querySelector("[data-sensitive]:not([open])");
      if (typing || busy || unseen || !enabled()) return;

      const key = keyOf(event);
      const radio = optionOf(key, event.target) ?? document.getElementById(RADIOS[key] ?? "");
      const next = key === "n" ? nextAdded(form) : null;
      // After the choice, a number is a certainty: the 2 of “25” must not choose the other
      // response.
      if (isDigit(key) && !optionOf(key, event.target) && takesCertainty(form, places)) {
        form.elements.certainty.focus();
        return; // The browser types it there.
      }
      if (radio) choose(radio);
      else if (next) next.focus();
      else if (places?.press(key, event.target)) {
        /* a place was given or cleared */
      } else if (key === "c" && form.elements.certainty) form.elements.certainty.focus();
      else if (key === "?") openSheet("help");
      // On a radio button, Enter does this anyway; it should also work after a click on the page,
      // or at its heading, where reading starts.
      else if (key === "enter" && event.target.matches("body, main, h1, h2"))
        form.elements.submit.click();
      else return;
      event.preventDefault();
    },
    { signal },
  );
}

function submitOnce(form) {
  // In a preview, a double press sends one request; sending an answer handles this itself.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => {
    sent = false;
  });
}

function mountBar(form, { signal }) {
  const bar = document.querySelector("[data-answer-bar]");
  const quick = bar.querySelector("[data-quick]");

  // Focus is never under the bar: the browser scrolls this much further.
  function measure() {
    const height = bar.offsetHeight || quick.offsetHeight;
    document.documentElement.style.setProperty("--bar", `${height}px`);
  }
  const sizes = new ResizeObserver(measure);
  sizes.observe(bar);
  sizes.observe(quick);
  signal.addEventListener("abort", () => sizes.disconnect());

  // On phones, scrolling up to read again folds it; scrolling down or answering opens it.
  let last = scrollY;
  addEventListener(
    "scroll",
    () => {
      if (Math.abs(scrollY - last) < 24) return;
      bar.classList.toggle("is-folded", scrollY < last && !bar.contains(document.activeElement));
      last = scrollY;
    },
    { passive: true, signal },
  );
  form.addEventListener("change", () => bar.classList.remove("is-folded"));
  bar.addEventListener("focusin", () => bar.classList.remove("is-folded"));
}

/** Mark what is chosen by classes, for browsers without `:has` in style sheets. */
function mountMarks(form) {
  const marked = [...form.querySelectorAll(".card, .place, .level")];
  const columns = form.querySelector(".columns");

  function show() {
    for (const part of marked)
      part.classList.toggle("is-chosen", Boolean(part.querySelector(":checked")));
    const { value = "" } = form.elements.choice ?? {};
    for (const side of ["a", "b", "tie"]) columns.classList.toggle(`chose-${side}`, value === side);
    columns.classList.toggle("has-choice", value !== "");
  }

  form.addEventListener("change", show);
  form.addEventListener(
    "toggle",
    ({ target }) => {
      target.closest(".folded")?.classList.toggle("is-unfolded", target.open);
    },
    true,
  );
  show();
  return { show };
}

function nameThisPage(form) {
  const own = new URL(form.action).pathname;
  if (own === location.pathname) return;
  // “task/” shows the current item: give its entry in the browser's history the item's own address,
  // so that Back leads to this item and its answer.
  if (own.startsWith(location.pathname)) history.replaceState(null, "", own);
  // Back was pressed before this file ran, and leads to another item.
  else location.replace(location.pathname);
}

/** Mount everything on the item that the page shows. */
function mount() {
  const form = document.querySelector("[data-item-form]");
  if (!form) return;
  // Removes listeners outside the item's elements when the next item replaces it.
  const left = new AbortController();
  const { signal } = left;
  const activeTime = measureActiveTime({ signal });
  countSigns(form, { signal });
  const certainty = mountCertainty(form);
  const places = mountPlaces(form);
  const marks = mountMarks(form);
  const media = mountMedia(form);
  const showEntered = () => {
    for (const part of [certainty, places, marks]) part?.show();
  };
  const { isWaiting } = keepDraft(form, { show: showEntered, activeTime, signal });
  if (isWaiting) media.letPass();
  mountShortcuts(form, { places, signal });
  mountSheets();
  mountFolds(form);
  noticeTranslation(form);
  mountBar(form, { signal });
  if (form.dataset.next) {
    nameThisPage(form);
    followHistory(form, { signal });
    sendUntilStored(form, { isWaiting, show, signal });
  } else submitOnce(form);

  function show(item) {
    left.abort();
    showItem(item);
    mount();
  }
}

mount();
document.querySelector(".error-summary")?.focus();
