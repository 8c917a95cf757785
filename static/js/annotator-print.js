// A button for the browser's print command.

const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
