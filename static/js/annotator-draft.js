// What was chosen and not yet sent stays on this device: a reload or a crash loses nothing.

const PREFIX = "thirdperson:draft:";

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // A browser that keeps nothing, or something that is not ours.
  }
}

function write(key, draft) {
  try {
    localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // Storage is full or forbidden; the server still gets the answer.
  }
}

function forgetSent(except) {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(PREFIX) && key !== except && read(key)?.sent) localStorage.removeItem(key);
    }
  } catch {
    // Nothing is kept where storage is forbidden.
  }
}

/** Restore and keep the draft of this item; fills the hidden active time when it is sent. */
export function keepDraft(form, { slider, activeTime }) {
  if (!form.dataset.draft) return; // A preview keeps nothing.
  const key = PREFIX + form.dataset.draft;
  const fields = form.elements;
  const draft = read(key);

  forgetSent(key);
  if (draft) {
    // The server's word wins where it has one: an answer that was sent, or entries it refused.
    const known = form.dataset.refused === "true" || (draft.sent && form.dataset.answered === "true");
    activeTime.add(draft.active ?? 0);
    if (!known) {
      if (draft.choice) fields.choice.value = draft.choice;
      if (fields.certainty) fields.certainty.value = draft.certainty ?? "";
      slider?.show();
    }
  }

  function keep(sent = false) {
    write(key, {
      choice: fields.choice.value,
      certainty: fields.certainty?.value ?? "",
      active: activeTime.read(),
      sent,
    });
  }

  form.addEventListener("input", () => keep());
  form.addEventListener("change", () => keep());
  addEventListener("pagehide", () => { if (!read(key)?.sent) keep(); });
  form.addEventListener("submit", () => {
    fields.active_ms.value = activeTime.read();
    keep();
  });
  form.addEventListener("stored", () => keep(true));
}
