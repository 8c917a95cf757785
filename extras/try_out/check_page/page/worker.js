// Python with this program, in memory. It has no network: its only files are those given here.

import { Fd } from "./vendor/wasi/fd.js";
import { Directory, File, OpenFile, PreopenDirectory } from "./vendor/wasi/fs_mem.js";
import WASI from "./vendor/wasi/wasi.js";

const SAMPLE = "item,human_1,human_2,judge\n1,A,A,A\n2,B,B,B\n3,A,B,A\n4,B,A,B\n";
// Python was started before it was stored, with the contents of a larger library.
const START = `
import sys
for finder in sys.path_importer_cache.values():
    finder.invalidate_caches()
import os, shlex, traceback
sys.path.insert(0, "/app")
os.environ["THIRDPERSON_COMMIT"] = open("/app/commit").read()
from thirdperson.check.command import check

def answer(files, options, marks):
    try:
        places = {name: f"/tables/{name}" for name in files}
        given = shlex.split(options.replace("--gold-file=", "--gold-file "))
        tables = [place for name, place in places.items() if name not in given]
        named = [places.get(part, part) for part in given]
        report = ["--json", "--out", "/tables/report.html"]
        return check([*named, *(["--mark", "/tables/mark.html"] if marks else report), "--", *tables])
    except SystemExit as ended:
        return ended.code
    except ValueError as error:
        print(f"The options cannot be read: {error}.", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"This needs {error.name}, which browsers cannot run. Use the command instead.", file=sys.stderr)
    except Exception:
        traceback.print_exc()
    return 70
`;
const tables = new Directory(new Map());
const output = [];
const errors = [];
let python;

class Sink extends Fd {
  constructor(parts) {
    super();
    this.parts = parts;
  }

  fd_write(data) {
    this.parts.push(data.slice());
    return { ret: 0, nwritten: data.byteLength };
  }
}

async function unpacked(name) {
  const response = await fetch(name);
  if (!response.ok)
    throw new Error(`${name} could not be loaded (${response.status}). Reload this page.`);
  return new Response(response.body.pipeThrough(new DecompressionStream("gzip")), {
    headers: { "Content-Type": "application/wasm" },
  });
}

// The files of a tar archive as folders. It has plain files only, with names of up to 255 letters.
function folders(bytes) {
  const root = new Directory(new Map());
  const text = (start, length) =>
    new TextDecoder().decode(bytes.subarray(start, start + length)).replace(/\0.*$/s, "");
  for (let place = 0; bytes[place]; ) {
    const prefix = text(place + 345, 155);
    const size = Number.parseInt(text(place + 124, 12), 8);
    const parts = `${prefix && `${prefix}/`}${text(place, 100)}`.split("/");
    let folder = root;
    for (const part of parts.slice(0, -1)) {
      if (!folder.contents.has(part)) folder.contents.set(part, new Directory(new Map()));
      folder = folder.contents.get(part);
    }
    const content = bytes.subarray(place + 512, place + 512 + size);
    folder.contents.set(parts.at(-1), new File(content, { readonly: true }));
    place += 512 + Math.ceil(size / 512) * 512;
  }
  return root;
}

async function start() {
  const [module, library, program] = await Promise.all([
    unpacked("python.bin").then((response) => WebAssembly.compileStreaming(response)),
    unpacked("library.bin").then((response) => response.arrayBuffer()),
    unpacked("program.bin").then((response) => response.arrayBuffer()),
  ]);
  const files = [
    new OpenFile(new File([])),
    new Sink(output),
    new Sink(errors),
    new PreopenDirectory(
      "/usr/local/lib",
      new Map([["python315.zip", new File(library, { readonly: true })]]),
    ),
    new PreopenDirectory(
      "/",
      new Map([
        ["app", folders(new Uint8Array(program))],
        ["tmp", new Directory(new Map())],
        ["tables", tables],
      ]),
    ),
  ];
  const wasi = new WASI(
    ["/usr/local/bin/python.wasm"],
    ["TMPDIR=/tmp", "HOME=/tmp", "PYTHONTZPATH=", "PYTHONDONTWRITEBYTECODE=1"],
    files,
    { debug: false },
  );
  python = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: { ...wasi.wasiImport, sched_yield: () => 0 },
    host: { call: () => -1 },
  });
  wasi.inst = python;
  run(START);
  const broken = taken(errors);
  if (broken) throw new Error(broken);
  // Loads all that a check needs, so that the first table does not wait for it.
  const sample = check([{ name: "sample.csv", content: new TextEncoder().encode(SAMPLE) }], "");
  if (!sample.out) throw new Error(sample.errors);
}

function run(source) {
  const { host_alloc, memory, turn } = python.exports;
  const bytes = new TextEncoder().encode(source);
  const place = host_alloc(bytes.length) >>> 0;
  new Uint8Array(memory.buffer).set(bytes, place);
  return turn(place, bytes.length);
}

function taken(parts) {
  const text = new TextDecoder();
  return parts
    .splice(0)
    .map((part) => text.decode(part, { stream: true }))
    .join("");
}

function check(files, options, marks = false) {
  tables.contents.clear();
  for (const { name, content } of files) {
    tables.contents.set(
      name.replace(/[/\0]/g, "_"),
      new File(new Uint8Array(content), { readonly: true }),
    );
  }
  const names = JSON.stringify([...tables.contents.keys()]);
  const wanted = marks ? "True" : "False";
  run(`code = answer(${names}, ${JSON.stringify(options)}, ${wanted})\nprint(f"\\n{code}")`);
  const out = taken(output).trimEnd();
  const end = out.lastIndexOf("\n");
  const page = tables.contents.get(marks ? "mark.html" : "report.html")?.data;
  return {
    marks,
    code: out.slice(end + 1),
    out: out.slice(0, Math.max(end, 0)).trim(),
    errors: taken(errors).trim(),
    page,
  };
}

const started = start().then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: `Python could not be started: ${error.message}` }),
);
self.onmessage = async ({ data }) => {
  await started;
  try {
    postMessage(check(data.files, data.options, data.marks));
  } catch (error) {
    postMessage({ failed: `Python stopped: ${error.message}. Reload this page.` });
  }
};
