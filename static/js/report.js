// Starts the page of a report: the parts that it starts are in the files beside this one.
"use strict";

const facts = JSON.parse(document.getElementById("facts").textContent);
