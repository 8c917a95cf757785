// The form, and what a check said. Python runs in a worker, so the page never waits for it.

const at = (id) => document.getElementById(id);
const worker = await start();
let isChecking = false;

worker.onmessage = ({ data }) => {
  if (data.ready) {
    say("Ready. Nothing is sent anywhere.");
    at("check").disabled = at("marks").disabled = false;
  } else if (data.failed) {
    say("");
    fail(data.failed);
  } else {
    busy(false);
    show(data);
  }
};

// Wait until the files are kept for use offline, where the browser can keep them.
async function start() {
  say("Loading Python, about 30 MB the first time…");
  if (navigator.serviceWorker) {
    try {
      const { active, installing } = await navigator.serviceWorker.register("offline.js");
      if (!active) await settled(installing);
    } catch (error) {
      console.info("This page will not work offline:", error.message);
    }
  }
  say("Starting Python…");
  return new Worker("worker.js", { type: "module" });
}

// Until the files are kept, or one of them could not be loaded.
function settled(script) {
  return new Promise((done) => {
    script?.addEventListener("statechange", () => {
      if (script.state === "activated" || script.state === "redundant") done();
    });
    if (script?.state !== "installing") done();
  });
}

function busy(now) {
  isChecking = now;
  at("check").disabled = at("marks").disabled = now;
}

function say(text) {
  at("status").textContent = text;
}

// Check the tables, or with `marks` write a page on which somebody marks their items.
async function check(marks = false) {
  const chosen = [...at("file").files];
  if (isChecking || at("check").disabled) return;
  at("result").hidden = at("problem").hidden = at("marking").hidden = true;
  if (!chosen.length) {
    say("Choose a table first.");
    at("file").focus();
    return;
  }
  const packed = chosen.find(({ name }) => /\.parquet$/i.test(name));
  if (packed) {
    say("");
    fail(
      `${packed.name}: browsers cannot read Parquet. Save the table as CSV, or use the command: thirdperson check ${packed.name}`,
    );
    return;
  }
  busy(true);
  say(`Reading ${chosen.map(({ name }) => name).join(", ")}…`);
  try {
    const contents = await Promise.all(chosen.map((file) => file.arrayBuffer()));
    const files = chosen.map(({ name }, place) => ({ name, content: contents[place] }));
    worker.postMessage({ files, options: at("options").value, marks }, contents);
  } catch {
    busy(false);
    say("");
    fail("A file cannot be read. Check its permissions, or choose it again.");
  }
}

function show({ code, out, errors, page, marks }) {
  say("");
  if (!out) {
    fail(errors || `The program ended with code ${code}.`);
    return;
  }
  if (marks) {
    at("written").textContent = out.split(": ").slice(1).join(": ").split("\n")[0];
    offer("page", page);
    reveal("marking");
    return;
  }
  const found = JSON.parse(out);
  at("verdict").textContent = found.verdict;
  at("verdict").dataset.verdict = found.verdict;
  at("sentence").textContent = found.sentence;
  at("settling").textContent = settling(found);
  list("judges", judges(found));
  list("caveats", found.caveats);
  list("read", found.read);
  offer("report", page);
  reveal("result");
}

function offer(id, page) {
  URL.revokeObjectURL(at(id).href);
  at(id).href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
}

function settling(found) {
  if (found.what_would_settle_it) return `What to do next: ${found.what_would_settle_it}`;
  return found.labels_needed ? `Labels still needed: about ${found.labels_needed}` : "";
}

// The other judges of a table, and who is right where the right labels are known.
function judges({ verdicts = [] }) {
  return verdicts.flatMap(({ verdict, sentence, right_labels: right }, place) => [
    ...(place ? [`${verdict}: ${sentence}`] : []),
    ...(right ? [right.sentence] : []),
  ]);
}

function list(id, texts) {
  at(id).hidden = !texts.length;
  at(id).replaceChildren(
    ...texts.map((text) => {
      const entry = document.createElement("li");
      entry.textContent = text;
      return entry;
    }),
  );
}

function fail(reason) {
  at("reason").textContent = reason;
  reveal("problem");
}

function reveal(id) {
  at(id).hidden = false;
  at(id).focus();
}

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
at("file").addEventListener("change", () => check());
at("marks").addEventListener("click", () => check(true));
for (const name of ["dragover", "dragleave", "drop"]) {
  at("drop").addEventListener(name, (event) => {
    event.preventDefault();
    at("drop").classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) {
      at("file").files = event.dataTransfer.files;
      check();
    }
  });
}
