// What this device keeps of items that were not yet stored by the server, by their key.

const PREFIX = "thirdperson:draft:";

export function read(key) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key));
  } catch {
    return null; // A browser that keeps nothing, or something that is not ours.
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
    // Nothing was kept where storage is forbidden.
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
export function watch(key, changed, { signal }) {
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + key && event.newValue) changed(read(key));
  }, { signal });
}
