// Sheets over the page: the profile and the help.

/** Open a sheet at its beginning: by itself a browser goes to its first button, which is the last
    thing on it. */
export function openSheet(name) {
  const sheet = document.getElementById(`${name}-dialog`);
  sheet.showModal();
  sheet.querySelector("h2").focus();
  sheet.scrollTop = 0;
}

export function mountSheets() {
  const profile = document.querySelector("[data-profile]");
  // People who answer for themselves see none.
  if (profile) document.querySelector("[data-profile-copy]").append(profile.cloneNode(true));
  for (const link of document.querySelectorAll("[data-opens]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openSheet(link.dataset.opens);
    });
  }
}
