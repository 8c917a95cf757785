// Drafts on this device of items that the server has not stored yet, by key.

const PREFIX = "thirdperson:draft:";

export function read(key) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key));
  } catch {
    return null; // The browser stores nothing, or the entry is not ours.
  }
}

export function write(key, draft) {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(draft));
  } catch {
    // Storage is full or forbidden; the server still gets the answer.
  }
}

export function remove(key) {
  try {
    localStorage.removeItem(PREFIX + key);
  } catch {
    // Nothing was stored if storage is forbidden.
  }
}

/** Every kept draft of a study, as [key, draft]. */
export function all(study) {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(`${PREFIX}${study}:`))
      .map((name) => name.slice(PREFIX.length))
      .map((key) => [key, read(key)])
      .filter(([, draft]) => draft);
  } catch {
    return [];
  }
}

/** Call `changed(draft)` when another tab of this browser changes the draft. */
function watch(key, changed, { signal }) {
  addEventListener(
    "storage",
    (event) => {
      if (event.key === PREFIX + key && event.newValue) changed(read(key));
    },
    { signal },
  );
}

// The next item replaces the answered one without another request.

const TYPE = "text/vnd.thirdperson.item+html";

/** The header that asks for the next item in the response. */
const wantsItem = { Accept: TYPE };

/** The next item in a response: {address, page}; null if the browser must go to another page. */
function readItem(response, text) {
  const address = response.headers.get("Content-Location");
  if (!response.ok || !address) return null;
  const page = new DOMParser().parseFromString(text, "text/html");
  return page.querySelector("[data-item-form]") ? { address, page } : null;
}

/** Show an item in place of the current one, at its own address. */
export function showItem({ address, page }) {
  // After the first answer to an item with advice, the same item comes again.
  if (location.pathname !== address) history.pushState(null, "", address);
  document.title = page.title;
  for (const part of [".masthead", "#main"]) {
    document.querySelector(part).replaceChildren(...page.querySelector(part).childNodes);
  }
  const from = document.querySelector("[data-deadline] [name=from]");
  if (from) from.value = address;
  scrollTo(0, 0);
  startReading();
}

/** As a browser does with a new page: announce its title, and start reading at its beginning. */
function startReading() {
  const heading = document.querySelector("#main h1, #main h2");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  say(document.title);
}

function say(text) {
  let place = document.querySelector("[data-spoken]");
  if (!place) {
    place = document.createElement("p");
    place.className = "visually-hidden";
    place.dataset.spoken = "";
    place.setAttribute("role", "status");
    document.body.append(place);
  }
  // Screen readers announce changes only in an element that they already know.
  setTimeout(() => {
    place.textContent = text;
  }, 100);
}

/** Let Back and Forward load the item of that address, as between any two pages. */
export function followHistory(form, { signal }) {
  const own = new URL(form.action).pathname;
  addEventListener(
    "popstate",
    () => {
      if (location.pathname !== own) location.replace(location.pathname);
    },
    { signal },
  );
}

// Answers are sent in the background, so that no network or server fault can lose them: an answer
// waits on this device, the page says so, and it is sent until it arrives, even by a later visit.
// If the script cannot send, the plain form does.

const PATIENCE_MS = 15_000;
const PAUSES_MS = [2_000, 5_000, 10_000, 30_000];

/** Send once: "stored" or the next item, "refused" (the server shows why), or "away".
    Only the network may fail here: what else goes wrong is thrown, and cannot pass for it. */
async function ask(action, body, headers = {}) {
  if (!navigator.onLine) return "away";
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  let response;
  let text;
  try {
    response = await fetch(action, {
      method: "POST",
      body,
      headers,
      credentials: "same-origin",
      redirect: "manual",
      signal: patience.signal,
    });
    text = await response.text();
  } catch {
    return "away";
  } finally {
    clearTimeout(timer);
  }
  if (response.type === "opaqueredirect") return "stored";
  return readItem(response, text) ?? (response.status >= 500 ? "away" : "refused");
}

/** Whether this page can reach the server at all, by another kind of request than answers. */
function reaches(address) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.timeout = PATIENCE_MS;
    request.onloadend = () => resolve(request.status > 0 && request.status < 500);
    request.open("GET", address);
    request.send();
  });
}

/** Send answers that wait from earlier visits to other items; refused ones stay as drafts. */
export async function sendWaiting(study, { except } = {}) {
  for (const [key, { waiting }] of all(study)) {
    if (!waiting || key === except) continue;
    const body = new URLSearchParams(waiting.body);
    const outcome = await ask(waiting.action, body).catch(() => "away");
    if (outcome === "stored") write(key, { sent: true });
    else if (outcome === "refused") write(key, { ...read(key), waiting: undefined });
  }
}

/** Mount after everything else that listens to the form's submission. `show` shows the next item. */
export function sendUntilStored(form, { isWaiting, show, signal }) {
  const note = document.querySelector("[data-offline]");
  let sending = false;
  let tries = 0;
  let timer;

  async function send() {
    clearTimeout(timer);
    if (sending) return;
    sending = true;
    try {
      await sendOnce();
    } catch {
      sendPlainly();
    }
  }

  async function sendOnce() {
    const outcome = await ask(form.action, new URLSearchParams(new FormData(form)), wantsItem);
    if (outcome === "stored" || outcome.page) {
      form.dispatchEvent(new Event("stored"));
      if (outcome.page) show(outcome);
      else location.assign(form.dataset.next);
    } else if (outcome === "refused") {
      sendPlainly();
    } else {
      form.dispatchEvent(new Event("away"));
      note.textContent = navigator.onLine ? note.dataset.away : note.dataset.text;
      // It failed twice although the server is reachable, so the script cannot send.
      const isHere = tries > 0 && navigator.onLine && (await reaches(form.action));
      if (isHere && note.textContent) return sendPlainly();
      sending = false;
      if (note.textContent)
        timer = setTimeout(send, PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
      tries += 1;
    }
  }

  /** Send as without a script: the browser shows the response. A repeated answer is stored once. */
  function sendPlainly() {
    form.dispatchEvent(new Event("plain"));
    sessionStorage.setItem("form", location.href); // A page that refuses the form has its address.
    // The button called “submit” hides the form's own method.
    if (form.isConnected) HTMLFormElement.prototype.submit.call(form);
    else location.assign(form.dataset.next); // The next item could not be shown in place.
  }

  function hold() {
    clearTimeout(timer);
    note.textContent = "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tries = 0;
    send();
  });
  // After a change, the annotator sends the waiting answer again.
  form.addEventListener("input", hold);
  form.addEventListener("change", hold);
  addEventListener(
    "online",
    () => {
      if (note.textContent) send();
    },
    { signal },
  );
  // The page may come back from the browser's cache.
  addEventListener(
    "pageshow",
    () => {
      sending = false;
    },
    { signal },
  );
  if (isWaiting) form.elements.submit.click();
  sendWaiting(form.dataset.draft.split(":")[0], { except: form.dataset.draft });
}

// Unsent input is kept twice: on this device, so that a crash or lost network loses nothing, and on
// the server, so that other devices show it too.

const REST_MS = 500; // One request after a pause, not one for every key.
const KEPT = /^(choice|certainty|place_[a-e]|media_missing)$/;
// And every field of questions that extras add.
const isKept = (field) => field.name && (KEPT.test(field.name) || field.closest("[data-added]"));

/** Restore and keep the draft of this item; returns {isWaiting}: an answer waits to be sent. */
export function keepDraft(form, { show, activeTime, signal }) {
  const key = form.dataset.draft;
  if (!key) return { isWaiting: false }; // A preview stores nothing, practice only here.
  const fields = form.elements;
  const FIELDS = [...new Set([...fields].filter(isKept).map(({ name }) => name))];
  const unsent = new Set(); // The fields that the server does not have yet.
  let stamp = form.dataset.stamp;
  let timer;
  let isAsking = false;
  let isOver = false; // The answer itself is being sent.

  function entered(name) {
    const field = fields[name];
    return field?.type === "checkbox" && !field.checked ? "" : (field?.value ?? "");
  }

  /** Take over entries from elsewhere, except those that were changed here. */
  function adopt(draft) {
    for (const name of FIELDS) {
      if (!unsent.has(name)) enter(name, draft[name] ?? "");
    }
    show();
  }

  function enter(name, value) {
    const field = fields[name];
    // An empty value selects no radio, and deselects none.
    if (value === "" && field instanceof RadioNodeList)
      field.forEach((radio) => {
        radio.checked = false;
      });
    else if (field.type === "checkbox") field.checked = value !== "";
    else field.value = value;
  }

  const allEntered = () => Object.fromEntries(FIELDS.map((name) => [name, entered(name)]));

  function keep(more = {}) {
    write(key, {
      ...allEntered(),
      active: activeTime.read(),
      unsent: [...unsent],
      ...more,
    });
  }

  async function save() {
    clearTimeout(timer);
    if (isAsking || isOver || !unsent.size || !form.dataset.draftUrl) return;
    const sent = [...unsent];
    unsent.clear();
    isAsking = true;
    const outcome = await send();
    isAsking = false;
    if (isOver) return;
    if (outcome !== "kept") for (const name of sent) unsent.add(name);
    keep();
    if (outcome.stamp) {
      // Another tab was faster: take over its changes, but keep those made here.
      stamp = outcome.stamp;
      adopt(outcome);
    }
    if (outcome.stamp || (outcome === "kept" && unsent.size)) save();
  }

  /** "kept", "away", or the server's entries if another tab was faster. */
  async function send() {
    const body = new URLSearchParams({
      csrfmiddlewaretoken: entered("csrfmiddlewaretoken"),
      assignment: entered("assignment"),
      stamp,
      ...allEntered(),
      active_ms: activeTime.read(),
    });
    try {
      const response = await fetch(form.dataset.draftUrl, {
        method: "POST",
        body,
        credentials: "same-origin",
        redirect: "manual",
        keepalive: true,
      });
      if (response.status === 409) return await response.json();
      if (!response.ok) return "away";
      ({ stamp } = await response.json());
      return "kept";
    } catch {
      return "away";
    }
  }

  function changed(event) {
    if (!FIELDS.includes(event.target.name)) return;
    isOver = false; // An answer that waits for the network was changed, so it no longer waits.
    unsent.add(event.target.name);
    keep();
    clearTimeout(timer);
    timer = setTimeout(save, REST_MS);
  }

  for (const [other, draft] of all(key.split(":")[0])) {
    if (other !== key && draft.sent) remove(other);
  }
  const kept = read(key);
  const isOurs = kept && !kept.sent;
  activeTime.add(Math.max(Number(form.dataset.spent ?? 0), kept?.active ?? 0));
  // The server's entries win where there are some: those that it refused.
  if (isOurs && form.dataset.refused === "false") {
    for (const name of kept.waiting ? FIELDS : (kept.unsent ?? [])) {
      if (fields[name]) enter(name, kept[name] ?? "");
      unsent.add(name);
    }
    show();
    save();
  }

  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  watch(
    key,
    (draft) => {
      if (!draft.sent && !isOver) adopt(draft);
    },
    { signal },
  );
  addEventListener("online", save, { signal });
  addEventListener(
    "pagehide",
    () => {
      if (!isOver) {
        keep();
        save();
      }
    },
    { signal },
  );
  form.addEventListener("submit", () => {
    isOver = true;
    clearTimeout(timer);
    fields.active_ms.value = activeTime.read();
    keep({ unsent: FIELDS });
  });
  // Stored as it would be sent, so that any later page of the study can send it.
  form.addEventListener("away", () => {
    const body = new URLSearchParams(new FormData(form)).toString();
    keep({ unsent: FIELDS, waiting: { action: form.action, body } });
  });
  form.addEventListener("plain", () => keep({ unsent: FIELDS }));
  form.addEventListener("stored", () => write(key, { sent: true, active: activeTime.read() }));
  return { isWaiting: Boolean(isOurs && kept.waiting) && form.dataset.refused === "false" };
}
