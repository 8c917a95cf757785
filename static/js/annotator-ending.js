// The last page: a button that copies the code, and nothing left behind on this device.

const button = document.querySelector("[data-copy]");
if (button && navigator.clipboard) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = document.querySelector("[data-copied]");
    await navigator.clipboard.writeText(document.querySelector("[data-code]").textContent);
    said.textContent = said.dataset.text;
  });
}

try {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith("thirdperson:draft:")) localStorage.removeItem(key);
  }
} catch {
  // Nothing was kept where storage is forbidden.
}
