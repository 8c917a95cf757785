// Starts the page of a report: the parts that it starts are in the files beside this one.
"use strict";

// What is folded around an element, innermost first.
function foldedAround(element) {
  const folded = [];
  for (let at = element?.closest("details"); at; at = at.parentElement.closest("details"))
    folded.push(at);
  return folded;
}

// A link into what is folded unfolds it, and so does a link to a chapter that is.
function unfold() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = [
    ...foldedAround(place),
    ...(place?.querySelectorAll(":scope > details.chapter") ?? []),
  ];
  if (!folded.some((details) => !details.open)) return;
  folded.forEach((details) => {
    details.open = true;
  });
  place.scrollIntoView();
}

const facts = JSON.parse(document.getElementById("facts").textContent);
