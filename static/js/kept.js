// Pages that answer a form: as they are, Back to one or a reload asks whether to send the form
// again. Here such a page becomes one that is only read, at the address where the form was filled
// in. What is typed is kept with its entry of the browser's history, and so is what the page shows
// if these are errors: other answers may show a secret once. Passwords, codes and files are not kept.

const main = document.getElementById("main");
const place = () => location.pathname + location.search;
const who = document.querySelector(".who")?.textContent;

const fields = () =>
  [...main.querySelectorAll("input, select, textarea")].filter(
    (field) => !field.readOnly && !/hidden|password|file|submit|button/.test(field.type),
  );

function keep(page) {
  const typed = fields().map(({ name, value, checked }) => ({ name, value, checked }));
  history.replaceState({ page: { ...page, typed } }, "");
}

function becomeOneThatIsRead() {
  // What leads to the address of this page keeps it.
  for (const [name, parts] of [
    ["action", "form"],
    ["formaction", "[formaction]"],
    ["href", "a[href^='?']"],
  ])
    for (const part of main.querySelectorAll(parts))
      part.setAttribute(name, new URL(part.getAttribute(name) ?? "", location.href).href);
  const own = document.body.dataset.posted || sessionStorage.getItem("form");
  const from = new URL(own ?? "", location.href);
  from.hash = location.hash;
  history.replaceState(null, "", from);
  if (main.querySelector("[autocomplete=one-time-code]")) return;
  const shown = { html: main.innerHTML, title: document.title };
  const hasErrors = main.querySelector("[role=alert], .error, [data-unsaved=changed]");
  const page = { place: place(), who, ...(hasErrors ? shown : {}) };
  keep(page);
  document.addEventListener("input", () => keep(page));
}

function showAgain({ typed, ...page }) {
  if (page.html) {
    main.innerHTML = page.html;
    document.title = page.title;
  }
  fields().forEach((field, n) => {
    const { name, value, checked } = typed[n] ?? {};
    if (field.name !== name) return;
    if (/checkbox|radio/.test(field.type)) field.checked = checked;
    else field.value = value;
  });
  document.addEventListener("input", () => keep(page));
}

const page = history.state?.page;
if ("posted" in document.body.dataset) becomeOneThatIsRead();
else if (page?.place === place() && page.who === who) showAgain(page);

// A form that is sent, by a press or by a script.
document.addEventListener("formdata", () => sessionStorage.setItem("form", location.href));
