// Replaces the list of sizes by a slider, which shows the result of a size at once.

for (const form of document.querySelectorAll("form[data-what-if]")) {
  const list = form.querySelector("select");
  const slider = form.querySelector("input[type=range]");
  const result = form.parentElement.querySelector("[data-what-if-result]");

  const show = () => {
    list.selectedIndex = Number(slider.value);
    const option = list.options[list.selectedIndex];
    slider.setAttribute("aria-valuetext", option.text);
    label.textContent = option.text;
    for (const part of result.querySelectorAll("[data-part]")) {
      part.textContent = option.dataset[part.dataset.part];
    }
  };

  const label = document.createElement("output");
  slider.max = String(list.options.length - 1);
  slider.value = String(list.selectedIndex);
  slider.after(label);
  slider.hidden = false;
  list.hidden = true;
  form.querySelector("button").hidden = true;
  slider.addEventListener("input", show);
  show();
}
