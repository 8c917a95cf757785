// What is chosen and not yet sent is kept twice: on this device, so that a crash or a missing
// network loses nothing, and on the server, so that it stands on the next device too.
import { all, read, remove, watch, write } from "./annotator-store.js";

const REST_MS = 500; // One request when the hand rests, not one for every key.
const KEPT = /^(choice|certainty|place_[a-e])$/;

/** Restore and keep the draft of this item; returns {isWaiting}: an answer that was to be sent. */
export function keepDraft(form, { certainty, places, activeTime, signal }) {
  const key = form.dataset.draft;
  if (!key) return { isWaiting: false }; // A preview keeps nothing, and practice this device alone.
  const fields = form.elements;
  const FIELDS = [...new Set([...fields].map(({ name }) => name))].filter((name) => KEPT.test(name));
  const unsent = new Set(); // The fields that the server has not heard of.
  let stamp = form.dataset.stamp;
  let timer;
  let isAsking = false;
  let isOver = false; // The answer itself is on its way.

  const entered = (name) => fields[name]?.value ?? "";

  /** Take over what stands elsewhere, but for what was changed here. */
  function adopt(draft) {
    for (const name of FIELDS) {
      if (!unsent.has(name)) enter(name, draft[name] ?? "");
    }
    show();
  }

  function enter(name, value) {
    const field = fields[name];
    // An empty value selects no radio, and leaves the one that is selected.
    if (value === "" && field instanceof RadioNodeList) field.forEach((radio) => { radio.checked = false; });
    else field.value = value;
  }

  const allEntered = () => Object.fromEntries(FIELDS.map((name) => [name, entered(name)]));

  function show() {
    certainty?.show();
    places?.show();
  }

  function keep(more = {}) {
    write(key, {
      ...allEntered(), active: activeTime.read(),
      unsent: [...unsent], ...more,
    });
  }

  async function save() {
    clearTimeout(timer);
    if (isAsking || isOver || !unsent.size || !form.dataset.draftUrl) return;
    const sent = [...unsent];
    unsent.clear();
    isAsking = true;
    const outcome = await ask();
    isAsking = false;
    if (isOver) return;
    if (outcome !== "kept") sent.forEach((name) => unsent.add(name));
    keep();
    if (outcome.stamp) {
      // Another tab was faster: what it changed is taken over, what was changed here stands.
      stamp = outcome.stamp;
      adopt(outcome);
    }
    if (outcome.stamp || (outcome === "kept" && unsent.size)) save();
  }

  /** "kept", "away", or what stands on the server where another tab was faster. */
  async function ask() {
    const body = new URLSearchParams({
      csrfmiddlewaretoken: entered("csrfmiddlewaretoken"), assignment: entered("assignment"),
      stamp, ...allEntered(), active_ms: activeTime.read(),
    });
    try {
      const response = await fetch(form.dataset.draftUrl, {
        method: "POST", body, credentials: "same-origin", redirect: "manual", keepalive: true,
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
    isOver = false; // An answer that waits for the network was changed: it waits no longer.
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
  // The server's word wins where it has one: entries that it refused.
  if (isOurs && form.dataset.refused === "false") {
    for (const name of kept.waiting ? FIELDS : kept.unsent ?? []) {
      if (fields[name]) enter(name, kept[name] ?? "");
      unsent.add(name);
    }
    show();
    save();
  }

  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  watch(key, (draft) => { if (!draft.sent && !isOver) adopt(draft); }, { signal });
  addEventListener("online", save, { signal });
  addEventListener("pagehide", () => { if (!isOver) { keep(); save(); } }, { signal });
  form.addEventListener("submit", () => {
    isOver = true;
    clearTimeout(timer);
    fields.active_ms.value = activeTime.read();
    keep({ unsent: FIELDS });
  });
  // It waits as it would be sent, so that any later page of the study can send it.
  form.addEventListener("away", () => {
    const body = new URLSearchParams(new FormData(form)).toString();
    keep({ unsent: FIELDS, waiting: { action: form.action, body } });
  });
  form.addEventListener("stored", () => write(key, { sent: true, active: activeTime.read() }));
  return { isWaiting: Boolean(isOurs && kept.waiting) && form.dataset.refused === "false" };
}
