// The focus in a card whose elements are drawn anew.

/** Names a button, so that it has the focus again after a redraw. */
export function named(node: HTMLElement, name: string): HTMLElement {
  node.dataset["change"] = name;
  return node;
}

/** Returns a function that gives the focus back after a redraw: to the same button, else to the next one that is still there. */
export function keepFocus(node: HTMLElement): () => void {
  const buttons = (): HTMLElement[] => [...node.querySelectorAll<HTMLElement>("[data-change]")];
  const names = buttons().map((one) => one.dataset["change"]);
  const at = node.contains(document.activeElement) ? names.indexOf((document.activeElement as HTMLElement).dataset["change"]) : -1;
  if (at < 0) return () => undefined;
  return () => {
    const now = new Map(buttons().map((one) => [one.dataset["change"], one]));
    [...names.slice(at), ...names.slice(0, at).reverse()].map((name) => now.get(name)).find((one) => one !== undefined)?.focus();
  };
}
