// Starts the page of a report: the parts that it starts are in the files beside this one.
"use strict";

// A link into what is folded unfolds it.
function unfold() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = [];
  for (let at = place?.closest("details"); at; at = at.parentElement.closest("details")) folded.push(at);
  if (!folded.some((details) => !details.open)) return;
  folded.forEach((details) => { details.open = true; });
  place.scrollIntoView();
}

const facts = JSON.parse(document.getElementById("facts").textContent);
