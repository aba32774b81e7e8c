// The official extension's setting: what it becomes, and what it goes back to.
export type Kept = { value: string | null };

/** What to write, and what to remember for the way back. Doing it twice keeps the first value. */
export function use(bridge: string, current: string | undefined, kept: Kept | undefined): { value: string; keep: Kept } {
  return { value: bridge, keep: current === bridge && kept ? kept : { value: current === bridge ? null : (current ?? null) } };
}

/** What to go back to; undefined takes the setting away. The error: it is not the bridge that stands there now. */
export function restore(bridge: string | undefined, current: string | undefined, kept: Kept | undefined): string | undefined {
  const ours = current !== undefined && (current === bridge || /(?:^|[\\/])codex-bridge(?:\.exe)?$/i.test(current));
  if (!ours) throw new Error(current ? `chatgpt.cliExecutable is ${current}, which is not the bridge: it stays` : "chatgpt.cliExecutable is not set");
  return kept?.value ?? undefined;
}
