// The next item takes the place of the one that was answered, without another request.

const TYPE = "text/vnd.thirdperson.item+html";

/** The header of a request that wants the next item in its response. */
export const wantsItem = { Accept: TYPE };

/** The next item in a response: {address, page}; null where the browser has to go somewhere. */
export async function readItem(response) {
  const address = response.headers.get("Content-Location");
  if (!response.ok || !address) return null;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("[data-item-form]") ? { address, page } : null;
}

/** Show an item in place of the current one, under its own address. */
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

/** What a browser does with a new page: it says its name, and reading starts at its beginning. */
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
  // A screen reader hears what changes in a place that it knows already.
  setTimeout(() => { place.textContent = text; }, 100);
}

/** Back and Forward between items load the item of that address, as between any two pages. */
export function followHistory(form, { signal }) {
  const own = new URL(form.action).pathname;
  addEventListener("popstate", () => {
    if (location.pathname !== own) location.replace(location.pathname);
  }, { signal });
}
