// The edit of a patch before it is accepted.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DiskFiles } from "../src/core/fileState";
import { acceptEdited, whyNotEditable, readProposal, type EditedFile } from "../src/core/patchEdit";
import { PendingRequests } from "../src/core/pendingRequests";
import type { Change } from "../src/core/protocol";
import { toServerRequest, type ServerRequest } from "../src/core/serverRequest";
import { unifiedDiff } from "../src/core/unifiedDiff";
import { session, Server, type Answers } from "./fakeServer";
import { tempFolder } from "./tempFolder";

const method = "item/fileChange/requestApproval";
const add = (path: string, diff = "new\n"): Change => ({ path, kind: { type: "add" }, diff });
const update = (path: string, diff = "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"): Change => ({ path, kind: { type: "update", move_path: null }, diff });

/** Runs a test with a folder that has poem.txt. */
async function inFolder(run: (root: string) => Promise<unknown>): Promise<void> {
  const root = tempFolder();
  writeFileSync(join(root, "poem.txt"), "one\ntwo\n", { mode: 0o755 });
  await run(root);
}

/** A patch that waits for approval, in an edit. */
async function asked(root: string, changes: Change[], answers: Answers = {}): Promise<{ server: Server; request: ServerRequest; edited: EditedFile[]; accept(): Promise<void>; responses(): unknown[] }> {
  const server = new Server(answers, "codex");
  const { session: s, editor } = session([server], undefined, { cwd: root });
  await s.send("hello");
  server.notify("item/started", { threadId: "t1", turnId: "turn1", item: { type: "fileChange", id: "p1", status: "inProgress", changes } });
  server.send({ id: 7, method, params: { threadId: "t1", turnId: "turn1", itemId: "p1" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  const request = editor.pending[0]!;
  const files = new DiskFiles(root);
  const edited = await readProposal(files, changes, [root]);
  return {
    server, request, edited, accept: () => acceptEdited(s, request.id, "accept", edited, files),
    responses: () => server.received.filter((one) => one.result !== undefined).map((one) => one.result),
  };
}

const read = (root: string, name: string): string | undefined => (existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8") : undefined);

test("an edited patch is written, then the model gets the difference, and Codex's version is declined", () =>
  inFolder(async (root) => {
    let onDisk: unknown;
    const { server, edited, accept, responses } = await asked(root, [update(join(root, "poem.txt")), add(join(root, "deep/new.txt"))], {
      "turn/steer": () => {
        onDisk = [read(root, "poem.txt"), read(root, "deep/new.txt"), responses()];
        return { turnId: "turn1" };
      },
    });
    assert.deepEqual(edited.map((file) => [file.path, file.proposal]), [["poem.txt", "one\nzwei\n"], ["deep/new.txt", "new\n"]]);
    edited[0]!.text = "one\n`zwo`\n";
    await accept();
    assert.deepEqual(onDisk, ["one\n`zwo`\n", "new\n", []], "the files come first, the answer last");
    const { expectedTurnId, threadId, input } = server.sent("turn/steer")[0] as { expectedTurnId: string; threadId: string; input: { text: string }[] };
    assert.deepEqual([threadId, expectedTurnId], ["t1", "turn1"]);
    assert.match(input[0]!.text, /^I edited your patch before I accepted it\. [^]*\n\n```diff\n--- a\/poem\.txt\n\+\+\+ b\/poem\.txt\n@@ -1,2 \+1,2 @@\n one\n-zwei\n\+`zwo`\n```$/);
    assert.deepEqual(responses(), [{ decision: "decline" }]);
  }));

test("without an edit, the patch is accepted and nothing is written", () =>
  inFolder(async (root) => {
    const { server, accept, responses } = await asked(root, [update(join(root, "poem.txt"))]);
    await accept();
    assert.deepEqual([server.sent("turn/steer"), responses(), read(root, "poem.txt")], [[], [{ decision: "accept" }], "one\ntwo\n"]);
  }));

for (const { name, breaks, answers, error, poem } of [
  { name: "a file changed", breaks: (root: string) => writeFileSync(join(root, "poem.txt"), "other\n"), answers: {}, error: /poem\.txt changed since/, poem: "other\n" },
  {
    name: "a file can't be written", answers: {}, error: /deep\/new\.txt can't be written/, poem: "one\ntwo\n",
    breaks: (root: string) => symlinkSync(tmpdir(), join(root, "deep")), // leads outside
  },
  { name: "Codex takes no message", breaks: () => undefined, answers: { "turn/steer": () => { throw new Error("no active turn to steer"); } }, error: /not accepted: no active turn/, poem: "one\ntwo\n" },
  { name: "the request is over", breaks: (_: string, { server }: { server: Server }) => server.notify("serverRequest/resolved", { threadId: "t1", requestId: 7 }), answers: {}, error: /The request is over/, poem: "one\ntwo\n" },
]) {
  test(`an edit is written whole or not at all: ${name}`, () =>
    inFolder(async (root) => {
      const { server, request, edited, accept, responses } = await asked(root, [update(join(root, "poem.txt")), add(join(root, "deep/new.txt"))], answers);
      for (const file of edited) file.text += "mine\n";
      breaks(root, { server });
      if (name === "the request is over") await new Promise((done) => setImmediate(done));
      await assert.rejects(accept(), error);
      assert.deepEqual([read(root, "poem.txt"), read(root, "deep/new.txt")], [poem, undefined]);
      assert.equal(responses().length, 0, `the request stays, or is over without an answer: ${request.title}`);
    }));
}

test("a request that ends during the write takes it back", () =>
  inFolder(async (root) => {
    const pending = new PendingRequests(() => undefined);
    void pending.add(7, method, { threadId: "t1", turnId: "turn1" }, []);
    const { id } = pending.list()[0]!;
    const disk = new DiskFiles(root);
    const [file] = await readProposal(disk, [update(join(root, "poem.txt"))], [root]);
    const write: typeof disk.write = async (...args) => {
      await disk.write(...args);
      pending.resolve(7);
    };
    const call = (): Promise<never> => assert.fail("the model gets no text");
    await assert.rejects(acceptEdited({ call, answer: () => false, pendingRequests: pending }, id, "accept", [{ ...file!, text: "mine\n" }], { read: (path) => disk.read(path), write }), /The request is over/);
    assert.equal(read(root, "poem.txt"), "one\ntwo\n");
  }));

test("an answer from elsewhere while the edit is written is said", () =>
  inFolder(async (root) => {
    const { edited, accept } = await asked(root, [update(join(root, "poem.txt"))], {
      "turn/steer": (_, server) => {
        server.notify("serverRequest/resolved", { threadId: "t1", requestId: 7 });
        return { turnId: "turn1" };
      },
    });
    edited[0]!.text = "mine\n";
    await assert.rejects(accept(), /answered elsewhere/);
  }));

test("a patch may be edited if it adds and updates files of the folder, in the sandbox", () => {
  const request = (params: object = {}): ServerRequest => toServerRequest("r", method, { threadId: "t", turnId: "u", ...params }, [], "codexUnderPolicy")!;
  const whyNot = (changes: Change[], params?: object): string => whyNotEditable(request(params), changes, ["/real", "/w"]);
  assert.equal(whyNot([add("/w/a"), update("/real/b")]), "");
  assert.match(whyNot([]), /no content/);
  assert.match(whyNot([add("/w/a"), { path: "/w/b", kind: { type: "delete" }, diff: "x" }]), /deletes or moves/);
  assert.match(whyNot([{ path: "/w/b", kind: { type: "update", move_path: "/w/c" }, diff: "" }]), /deletes or moves/);
  assert.match(whyNot([add("/other/a")]), /outside the folder/);
  assert.match(whyNot([add("/w/.git/hooks/x")]), /outside the folder/);
  assert.match(whyNot([add("/w/a"), add("/w/a")]), /outside the folder/);
  assert.match(whyNot([add("/w/a")], { grantRoot: "/w" }), /leaves the sandbox/);
  assert.match(whyNot([add("/w/a")], { reason: "[codex-bridge: leaves the sandbox] read-only" }), /leaves the sandbox/);
  assert.match(whyNot([add("/w/a")], { turnId: undefined }), /no content/);
  assert.equal(whyNotEditable(toServerRequest("r", "item/commandExecution/requestApproval", { turnId: "u", command: "ls" }, [])!, [add("/w/a")], ["/w"]), "");
});

test("texts that an editor can't keep exactly are not edited", () =>
  inFolder(async (root) => {
    mkdirSync(join(root, "folder"));
    for (const [name, data] of Object.entries({ crlf: "one\r\ntwo\r\n", binary: "one\0two", latin: Buffer.from([0x6f, 0xe9]), bom: "\uFEFFone\ntwo\n" })) writeFileSync(join(root, name), data);
    for (const [change, error] of [
      ...["crlf", "latin", "bom", "folder"].map((name) => [add(join(root, name)), new RegExp(`^Error: ${name} can't be edited here`)] as const),
      [add(join(root, "x"), "a\r\n"), /x can't be edited here/],
      [update(join(root, "none")), /does not fit none/],
    ] as const) await assert.rejects(readProposal(new DiskFiles(root), [change], [root]), error);
  }));

test("a diff has hunks with three lines around each change", () => {
  const before = Array.from({ length: 20 }, (_, i) => `${i + 1}\n`);
  const after = before.with(1, "two\n").toSpliced(16, 1).join("") + "end";
  assert.equal(unifiedDiff("a", before.join(""), after), [
    "--- a/a", "+++ b/a", "@@ -1,5 +1,5 @@", " 1", "-2", "+two", " 3", " 4", " 5",
    "@@ -14,7 +14,7 @@", " 14", " 15", " 16", "-17", " 18", " 19", " 20", "+end", "\\ No newline at end of file", "",
  ].join("\n"));
  assert.equal(unifiedDiff("a", "", "é\n"), "--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+é\n");
  assert.equal(unifiedDiff("a", "x\n", "x\n"), "");
  assert.match(unifiedDiff("a", "x\n".repeat(3000) + "a\n", "y\n".repeat(3000) + "a\n"), /^[^]*@@ -1,3001 \+1,3001 @@\n(-x\n){3000}(\+y\n){3000} a\n$/);
});
