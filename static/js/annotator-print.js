// A button for the browser's print command.
import "./annotator-clock.js";

const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
