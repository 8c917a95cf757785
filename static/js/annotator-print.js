// A button for the browser's print command.
import { showClocks } from "./annotator-clock.js";

showClocks();

const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
