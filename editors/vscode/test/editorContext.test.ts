// The context of a message in the editor: selections, problems, images and files.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { suggestFiles } from "../src/editor/context";
import { openFile, resolveFile } from "../src/editor/fileLinks";
import { call } from "../src/editor/tools";
import { labels, newApp, resetWindow, selected } from "./fakeApp";
import { calls, state, Uri } from "./fakeVscode";
import { tempFolder } from "./tempFolder";

beforeEach(resetWindow);

test("a selection that is added while the side bar is hidden arrives, and stays until it is sent or removed", async () => {
  const { app, view, chats } = newApp();
  view.show(false);
  state.activeEditor = selected("/w/src/a.ts", "one\ntwo\n");
  await app.composing.addSelection();
  view.show(true); // the page is not loaded yet
  assert.deepEqual(labels(view), []);
  view.send({ type: "ready" });
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  view.show(false); // the page is destroyed
  view.show(true);
  view.send({ type: "ready" });
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  await app.composing.addSelection(); // the same lines again
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  view.send({ type: "removeChip", id: chats.current.attachments.chips()[0]!.id });
  assert.deepEqual(labels(view), []);
});

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

test("a pasted image is a private file until its turn ends", async () => {
  const folder = tempFolder();
  const { app, view, chats } = newApp(folder);
  const images = join(folder, "images");
  view.send({ type: "image", name: "shot.png", data: png });
  assert.deepEqual(labels(view), ["shot.png, 1 kB"]);
  const [file] = readdirSync(images);
  assert.match(file!, /^[\da-f-]{36}\.png$/, "the name of the file is not that of the user");
  assert.equal(statSync(images).mode & 0o777, 0o700);
  assert.equal(statSync(join(images, file!)).mode & 0o777, 0o600);
  let sent: unknown;
  const { session } = chats.current;
  session.send = (_, input) => {
    sent = input;
    chats.current.running(true);
    return Promise.resolve(true);
  };
  Object.defineProperty(session, "isRunning", { get: () => chats.current.since > 0 });
  await app.send("");
  assert.deepEqual(sent, [{ type: "localImage", path: join(images, file!) }]);
  assert.equal(readdirSync(images).length, 1, "Codex has not read it yet");
  chats.current.running(false);
  assert.deepEqual(readdirSync(images), []);
  view.send({ type: "image", name: "again.png", data: png });
  view.send({ type: "removeChip", id: chats.current.attachments.chips()[0]!.id });
  assert.deepEqual(readdirSync(images), []);
  view.send({ type: "image", name: "x.svg", data: new TextEncoder().encode("<svg/>") });
  assert.deepEqual(view.received.at(-1), { type: "problem", text: "x.svg is not a PNG, JPEG, GIF or WebP image." });
});

test("a message that can't be sent keeps its context", async () => {
  const { app, view, chats } = newApp();
  state.activeEditor = selected("/w/a.ts", "one");
  await app.composing.addSelection();
  chats.current.session.send = () => Promise.reject(new Error("no"));
  assert.equal(await app.send("look"), false);
  assert.deepEqual(labels(view), ["a.ts:3–4"]);
});

test("problems of the active file are context", async () => {
  const { app, view } = newApp();
  await app.composing.addProblems();
  assert.ok(calls.includes("information | No file is open in the editor."));
  state.activeEditor = selected("/w/a.ts", "one");
  await app.composing.addProblems();
  assert.ok(calls.includes("information | The editor reports no problems in a.ts."));
  state.diagnostics = [[Uri.file("/w/a.ts"), [{ range: { start: { line: 0, character: 4 } }, severity: 0, message: "bad" }]]];
  await app.composing.addProblems();
  assert.deepEqual(labels(view), ["a.ts: 1 problem"]);
});

test("files are suggested by Codex, and by VS Code if the policy refuses that", async () => {
  const { chats } = newApp();
  const { session } = chats.current;
  const asked: unknown[] = [];
  session.call = (method, params) => {
    asked.push([method, params]);
    return Promise.resolve({ files: [{ path: ".git/src", match_type: "directory" }, { path: "src", match_type: "directory" }, { path: "src/a b.ts", match_type: "file" }] } as never);
  };
  const suggest = (query: string): Promise<string[]> => suggestFiles({ folder: "/w", session }, query, () => undefined).then((list) => list.map((one) => `${one.insert} ${one.detail}`));
  assert.deepEqual(await suggest("src"), ["@src src/ folder", '@"src/a b.ts" src/a b.ts']);
  assert.deepEqual(asked, [["fuzzyFileSearch", { query: "src", roots: ["/w"], cancellationToken: null }]]);
  session.call = () => Promise.reject(new Error("refused"));
  state.foundFiles = ["/w/lib/src.c", "/w/other.c", "/w/src.c"];
  assert.deepEqual(await suggest("src"), ["@src.c ", "@lib/src.c lib/src.c"]);
});

test("a name of a file opens nothing but an existing file, and no link leads out of the folder", async () => {
  const folder = tempFolder();
  const root = join(folder, "w");
  mkdirSync(join(root, "sub"), { recursive: true });
  writeFileSync(join(root, "a.ts"), "");
  writeFileSync(join(root, "..", "secret"), "");
  writeFileSync(join(root, "a\u202e.ts"), "");
  symlinkSync(join(root, "..", "secret"), join(root, "way"));
  state.folders = [root];
  assert.equal(resolveFile("a.ts", root), join(root, "a.ts"));
  assert.equal(resolveFile(join(root, "a.ts"), root), join(root, "a.ts"));
  for (const bad of ["gone.ts", "sub", "../secret", "way", `/${join(root, "a.ts")}`, "\\\\server\\a.ts", "a.ts\u0000", "a\u202e.ts", "", "/dev/null"]) assert.equal(resolveFile(bad, root), undefined, bad);
  const second = join(root, "..", "second");
  mkdirSync(second);
  writeFileSync(join(second, "a.ts"), "");
  state.folders = [root, second];
  assert.equal(resolveFile("a.ts", second), join(second, "a.ts"), "the folder of the chat comes first");
  await openFile("a.ts", 3, 2, root);
  await openFile("gone.ts", 1, 0, root);
  assert.deepEqual(calls, [`open ${join(root, "a.ts")}:3`, "information | gone.ts is not a file of this machine."]);
});

test("with several folders, the tools name files in one way", async () => {
  state.folders = ["/appA", "/lib"];
  state.openFiles = ["/appA/a.json", "/lib/b.json"];
  const range = { start: { line: 0, character: 4 } };
  state.diagnostics = [[Uri.file("/appA/a.json"), [{ range, severity: 0, message: "bad" }]], [Uri.file("/lib/b.json"), [{ range, severity: 0, message: "worse" }]]];
  const text = async (name: string, input: object): Promise<string> => (await call("/appA", name, input)).contentItems[0]!.text;
  const names = (await text("editor_open_files", {})).split("\n");
  assert.deepEqual(names, ["a.json", "/lib/b.json"]);
  for (const path of names) assert.match(await text("editor_problems", { path }), new RegExp(`^${path}:1:5: error`));
  for (const path of names) assert.equal((await call("/appA", "editor_symbols", { path })).success, true, path);
  assert.match(await text("editor_problems", { path: "/etc/passwd" }), /outside the folder/);
});
