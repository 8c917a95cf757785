// Functions that the parts of a report's page share.

export const facts = JSON.parse(document.getElementById("facts").textContent);

export function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}

export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function headings(table) {
  return [...[...table.tHead.rows].at(-1).cells];
}

export function lineBelow(text) {
  const line = document.createElement("span");
  line.className = "below";
  line.textContent = text;
  return line;
}

// One decimal, rounding half to even as in the page. Only quarters can be halfway.
export function oneDecimal(value) {
  return value % 1 === 0.25 ? `${Math.floor(value)}.2` : value.toFixed(1);
}

// Unfolds everything around an element; returns whether anything was folded.
export function unfoldAround(element) {
  let wasClosed = false;
  for (let at = element?.closest("details"); at; at = at.parentElement.closest("details")) {
    wasClosed ||= !at.open;
    at.open = true;
  }
  return wasClosed;
}

export function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}
