// Show Status, Grants, Decisions, and Try a command against the policy.
import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import { parseOrigin } from "../core/policy";
import { choose } from "../core/program";
import {
  type Check, commandQuestion, decisionRow, describeExplanation, type Explanation, type Grant, grantRow, type LoggedDecision, type Row, type RowAction, statusRows,
} from "../core/status";
import * as bridgeStrings from "../core/strings/bridge";
import * as requestStrings from "../core/strings/requests";
import type { Status } from "../core/protocol";
import type { Chat } from "../view/chat";
import * as settings from "./settings";
import type { StatusBar } from "./statusBar";

const maxDecisions = 200;
/** How long a command of the bridge may take, in milliseconds. */
const timeout = 30_000;

/** The part of the app that these commands use. */
export interface PolicyHost {
  readonly chat: Chat;
  readonly status: StatusBar;
  readonly output: vscode.LogOutputChannel;
  readonly folder: string;
  readonly threadId: string | undefined;
  bridgeStatus(): Promise<Status | undefined>;
  grants(): Promise<Grant[] | undefined>;
  askBridge<T>(method: string, params: object): Promise<T>;
  restart(): Promise<void>;
  log(line: string): void;
}

/** Runs a command of the bridge in a folder with its settings, and returns its output. doctor exits with 1 after it has found a problem. */
function runBridge(args: string[], cwd: string): Promise<string> {
  const program = choose(settings.programs(), settings.find);
  if (program.kind !== "bridge") return Promise.reject(new Error(bridgeStrings.program.needsBridge));
  return new Promise((done, failed) => {
    execFile(program.command, args, { cwd: cwd || undefined, env: { ...process.env, ...program.env }, timeout, maxBuffer: 64 << 20 }, (cause, stdout, stderr) => {
      if (cause && stdout.trim() === "") failed(new Error(stderr.trim().split("\n").at(-1) || cause.message));
      else done(stdout);
    });
  });
}

/** Opens a file of the policy at a line. */
export async function openPlace(place: { file: string; line: number }): Promise<void> {
  try {
    const at = new vscode.Position(Math.max(0, place.line - 1), 0);
    await vscode.window.showTextDocument(vscode.Uri.file(place.file), { selection: new vscode.Range(at, at) });
  } catch (cause) {
    void vscode.window.showErrorMessage(requestStrings.policy.cannotOpen(place.file, message(cause)));
  }
}

/** Opens the settings. In a remote window only its own page has all of them. */
export async function openSettings(): Promise<void> {
  const query = { query: "codexBridge" };
  if (vscode.env.remoteName !== undefined) await vscode.commands.executeCommand("workbench.action.openRemoteSettings", query);
  else await vscode.commands.executeCommand("workbench.action.openSettings", query.query);
}

export async function showStatus(app: PolicyHost): Promise<void> {
  const s = bridgeStrings.status;
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { row?: Row; run?: RowAction }>();
  pick.title = s.title;
  pick.placeholder = s.checking;
  pick.matchOnDescription = true;
  pick.busy = true;
  const icons = { error: "$(error) ", warning: "$(warning) " };
  const draw = (rows: Row[]): void => {
    const actions = Object.entries(s.actions).map(([run, label]) => ({ label, run: run as RowAction }));
    pick.items = [
      ...rows.map((row) => ({ label: `${row.level ? icons[row.level] : ""}${row.label}`, description: row.value, row })),
      { label: "", kind: vscode.QuickPickItemKind.Separator },
      ...actions,
    ];
  };
  pick.onDidAccept(() => {
    const [item] = pick.selectedItems;
    pick.hide();
    if (item?.row?.open) void openPlace(item.row.open);
    const action = item?.run ?? item?.row?.action;
    if (action) void run(app, action);
  });
  let isOpen = true;
  pick.onDidHide(() => {
    isOpen = false;
    pick.dispose();
  });
  draw(statusRows(app.status.gate, undefined, undefined, undefined));
  pick.show();
  const [status, grants] = await Promise.all([app.bridgeStatus(), app.grants()]).catch(() => [undefined, undefined]);
  if (!isOpen) return;
  draw(statusRows(app.status.gate, status, grants?.length, undefined));
  let checks: Check[] | undefined;
  try {
    if (vscode.workspace.isTrusted) checks = JSON.parse(await runBridge(["doctor", "--json"], app.folder)) as Check[];
  } catch (cause) {
    app.log(`doctor: ${message(cause)}`);
  }
  if (!isOpen) return;
  draw(statusRows(app.status.gate, status, grants?.length, checks));
  pick.busy = false;
  pick.placeholder = s.hint;
}

async function run(app: PolicyHost, action: RowAction): Promise<void> {
  switch (action) {
    case "chat":
      return app.chat.focus();
    case "grants":
      return showGrants(app);
    case "decisions":
      return showDecisions(app);
    case "try":
      return tryCommand(app);
    case "settings":
      return openSettings();
    case "log":
      return app.output.show();
    case "restart":
      return app.restart();
  }
}

/** Lists the remembered approvals, and revokes the chosen ones. */
export async function showGrants(app: PolicyHost): Promise<void> {
  try {
    const { grants } = await app.askBridge<{ grants: Grant[] }>("bridge/grant/list", {});
    if (grants.length === 0) {
      void vscode.window.showInformationMessage(bridgeStrings.grants.none);
      return;
    }
    const items = grants.map((grant) => ({ ...grantRow(grant, Date.now()), id: grant.id }));
    const picked = await vscode.window.showQuickPick(items, { title: bridgeStrings.grants.title, placeHolder: bridgeStrings.grants.hint, canPickMany: true, matchOnDetail: true });
    if (!picked?.length) return;
    const { revoked } = await app.askBridge<{ revoked: string[] }>("bridge/grant/revoke", { ids: picked.map((item) => item.id) });
    void vscode.window.showInformationMessage(bridgeStrings.grants.revoked(revoked.length));
  } catch (cause) {
    void vscode.window.showErrorMessage(escapeLinks(message(cause)));
  }
}

/** Lists the logged decisions, the newest first. Enter opens the file of the rule, if there is one. */
export async function showDecisions(app: PolicyHost): Promise<void> {
  let all: LoggedDecision[];
  try {
    all = JSON.parse(await runBridge(["decisions", "list", "--json", `--limit=${maxDecisions}`], app.folder)) as LoggedDecision[];
  } catch (cause) {
    void vscode.window.showErrorMessage(escapeLinks(bridgeStrings.decisions.failed(message(cause))));
    return;
  }
  if (all.length === 0) {
    void vscode.window.showInformationMessage(bridgeStrings.decisions.none);
    return;
  }
  const items = all.toReversed().map((one) => ({ ...decisionRow(one), one }));
  const picked = await vscode.window.showQuickPick(items, { title: bridgeStrings.decisions.title, placeHolder: bridgeStrings.decisions.hint, matchOnDescription: true, matchOnDetail: true });
  if (!picked) return;
  const place = parseOrigin(picked.one.origin);
  const text = `${picked.label} — ${picked.detail}`;
  const open = place ? [requestStrings.policy.open] : [];
  if ((await vscode.window.showInformationMessage(escapeLinks(text), ...open)) && place) await openPlace(place);
}

/** The code of an error about params, of a bridge that takes messages only. */
const invalidParams = -32602;

async function explain(app: PolicyHost, command: string): Promise<Explanation> {
  const { folder: cwd, threadId } = app;
  try {
    return await app.askBridge<Explanation>("bridge/policy/explain", { command, cwd, ...(threadId && { threadId }) });
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== invalidParams) throw cause;
    return app.askBridge<Explanation>("bridge/policy/explain", { message: commandQuestion(command, cwd, threadId ?? "none") });
  }
}

/** Asks the policy about a command, which does not run. */
export async function tryCommand(app: PolicyHost): Promise<void> {
  const command = await vscode.window.showInputBox({ title: bridgeStrings.attempt.title, prompt: bridgeStrings.attempt.prompt, placeHolder: "git push", ignoreFocusOut: true });
  if (!command?.trim()) return;
  try {
    const { text, open } = describeExplanation(command, await explain(app, command));
    const picked = await vscode.window.showInformationMessage(escapeLinks(text), ...(open ? [requestStrings.policy.open] : []), bridgeStrings.attempt.again);
    if (picked === bridgeStrings.attempt.again) await tryCommand(app);
    else if (picked && open) await openPlace(open);
  } catch (cause) {
    void vscode.window.showErrorMessage(escapeLinks(message(cause)));
  }
}

const message = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
