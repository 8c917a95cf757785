// Replaces the lists of a form by sliders. The result of each choice was computed on the server: the form names the
// element with the table of results, whose keys join the values of the lists by “x”.

for (const form of document.querySelectorAll("form[data-what-if]")) {
  const table = JSON.parse(document.getElementById(form.dataset.whatIf).textContent);
  const lists = [...form.querySelectorAll("select")];
  const place = form.parentElement;
  const each = (name, change) => {
    for (const node of place.querySelectorAll(`[data-${name}]`)) change(node, node.dataset[name]);
  };

  const show = () => {
    const found = table[lists.map((list) => list.value).join("x")];
    for (const list of lists) {
      const option = list.options[list.selectedIndex];
      const words = list.dataset.says ? found[list.dataset.says] : option.text;
      const slider = list.parentElement.querySelector("input[type=range]");
      slider.setAttribute("aria-valuetext", words);
      slider.nextElementSibling.textContent = words;
    }
    each("part", (node, name) => {
      node.textContent = found[name];
    });
    each("field", (node, name) => {
      node.value = found[name];
    });
    each("when", (node, name) => {
      node.hidden = !found[name];
    });
    each("unless", (node, name) => {
      node.hidden = found[name];
    });
    each("marker", (node) => {
      node.setAttribute("cx", found.x);
      node.setAttribute("cy", found.y);
    });
  };

  for (const list of lists) {
    const slider = list.parentElement.querySelector("input[type=range]");
    slider.after(document.createElement("output"));
    slider.max = String(list.options.length - 1);
    slider.value = String(list.selectedIndex);
    slider.hidden = false;
    list.hidden = true;
    slider.addEventListener("input", () => {
      list.selectedIndex = Number(slider.value);
      show();
    });
  }
  form.querySelector("button").hidden = true;
  show();
}
