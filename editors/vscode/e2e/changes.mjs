// Scenes of the changes of a turn: undo of a hunk, and restore.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./user.mjs";

const lines = (changed = {}) => Array.from({ length: 20 }, (_, i) => `${changed[i + 1] ?? `line ${i + 1}`}\n`).join("");

/** The user edits a patch before they accept it, and undoes the write. */
async function editBeforeAccept(p) {
  await p.send("PATCH: edited.txt\nof the model");
  await p.page.locator(".tab.active", { hasText: "edited.txt (Codex proposes)" }).waitFor();
  const request = p.request("edited.txt");
  await request.getByRole("button", { name: "Edit…" }).click();
  await p.page.locator(".tab", { hasText: "Codex proposes" }).waitFor({ state: "detached" });
  await p.page.locator(".tab.active", { hasText: "edited.txt (edit, then accept)" }).waitFor();
  await p.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "of the model" }).click();
  await p.page.keyboard.press("Control+Home");
  await p.page.keyboard.type("mine ");
  await p.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "mine of the model" }).waitFor();
  await request.getByRole("button", { name: "Discard the Edits" }).waitFor();
  await p.shot("edit");
  await p.page.locator(".editor-actions").getByRole("button", { name: "Accept Edited" }).click();
  await p.sees(".assistant", "I edited your patch before I accepted it."); // the scripted model repeats what it got
  await p.idle();
  assert.equal(p.read("edited.txt"), "mine of the model\n");
  await p.page.locator(".tab", { hasText: "edited.txt" }).waitFor({ state: "detached" });
  await p.chat.locator("article.changes", { hasText: "edited.txt" }).getByRole("button", { name: "Undo: edited.txt" }).click();
  await until("the edited write is undone", () => p.read("edited.txt") === undefined);
  await p.toChat();
}

export const changes = {
  async "many files are grouped by folder, and drawn when a folder is opened"(p) {
    writeFileSync(join(p.code.workspace, "many-old.txt"), "old\n");
    await p.toChat("New Thread");
    await p.send("change many files");
    await p.page.locator(".tab.active", { hasText: "Codex: 61 files" }).waitFor(); // it takes the focus
    const request = p.request("Change these 61 files?");
    await request.getByText("It can't be edited first, because it deletes or moves a file.").waitFor();
    assert.equal(await request.getByRole("button", { name: "Edit…" }).count(), 0);
    assert.deepEqual(await request.locator(".file").count(), 0);
    const folder = request.locator("button.group", { hasText: "many/part3/" });
    await folder.press("Enter");
    await request.locator(".file", { hasText: "file003.txt" }).first().waitFor();
    assert.equal(await request.locator(".file").count(), 12);
    await p.seesFocus();
    await folder.press("Enter");
    assert.equal(await request.locator(".file").count(), 0);
    await request.getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    const card = p.chat.locator("article.changes");
    await card.getByRole("button", { name: "Show All Changes" }).waitFor();
    const elements = await p.chat.locator("#log").evaluate((log) => log.querySelectorAll("*").length);
    assert.ok(elements < 150, `${elements} elements`);
    await card.locator("button.group", { hasText: "many/part1/" }).press("Enter");
    await card.getByRole("button", { name: "Undo: many/part1/file001.txt" }).press("Enter");
    await until("the file is undone", () => p.read("many/part1/file001.txt") === undefined);
    await card.locator(".group .note", { hasText: "12 files, 1 undone" }).waitFor();
    await p.seesFocus();
    await p.widths("many", [200, 280, 400]);
    await p.closeEditors();
    await p.toChat();
  },

  async "the changes of a turn are undone by hunk, and restored with the user's edits kept"(p) {
    const file = join(p.code.workspace, "control.txt");
    writeFileSync(file, lines());
    await p.toChat("New Thread");
    await p.send("take control");
    const card = p.chat.locator("article.changes");
    await p.request("control.txt").getByRole("button", { name: "Accept", exact: true }).click();
    await card.getByText("1 file changed so far").waitFor(); // the command waits for its answer
    assert.equal(await card.getByRole("button").count(), 0, "nothing can be undone yet");
    await p.acceptUntil("the card of the changes", async () => (await card.getByRole("button").count()) > 0);
    await p.idle();
    assert.match(await card.innerText(), /2 files changed[^]*control\.txt[^]*\+2[^]*−2[^]*made\.txt/);
    await p.shot("changes");
    writeFileSync(file, p.read("control.txt").replace("line 9\n", "mine 9\n"));

    const unfold = card.getByRole("button", { name: "Hunks: control.txt" });
    await unfold.press("Enter");
    const hunk = card.getByRole("group", { name: "control.txt, Line 15: −1 +1" });
    await hunk.getByText("+codex 15").waitFor();
    assert.equal(await unfold.getAttribute("aria-expanded"), "true");
    await p.shot("hunks");
    await hunk.getByRole("button", { name: "Undo: control.txt, Line 15" }).press("Enter");
    await until("the hunk is undone", () => p.read("control.txt") === lines({ 3: "codex 3", 9: "mine 9" }));
    await hunk.getByText("undone").waitFor();
    await p.seesFocus();
    await unfold.press("Enter");
    await hunk.waitFor({ state: "detached" });

    await card.getByRole("button", { name: "Show All Changes" }).press("Enter");
    const all = p.page.locator(".multiDiffEntry");
    await all.filter({ hasText: "control.txt" }).getByText("line 15").waitFor();
    await all.filter({ hasText: "made.txt" }).waitFor();
    await p.shot("all-changes");
    await p.closeEditors();

    await card.getByRole("button", { name: "Restore to Before This Turn" }).press("Enter");
    await p.list.filter({ hasText: "control.txt" }).filter({ hasText: "restored, your later edits are kept" }).waitFor();
    await p.list.filter({ hasText: "made.txt" }).waitFor();
    await p.shot("restore");
    await p.page.keyboard.press("Enter");
    await p.page.locator(".monaco-dialog-box .monaco-button", { hasText: "Restore" }).click();
    await until("the files are restored", () => p.read("control.txt") === lines({ 9: "mine 9" }) && p.read("made.txt") === undefined);
    await card.locator(".note", { hasText: "undone" }).first().waitFor();

    await p.openList("Undo the Last Undo or Restore");
    await p.list.filter({ hasText: "made.txt" }).waitFor();
    await p.page.keyboard.press("Enter");
    await p.page.locator(".monaco-dialog-box .monaco-button", { hasText: "Restore" }).click();
    await until("the restore is undone", () => p.read("control.txt") === lines({ 3: "codex 3", 9: "mine 9" }) && p.read("made.txt") === "made\n");
    await p.toChat();
    await editBeforeAccept(p);
  },
};
