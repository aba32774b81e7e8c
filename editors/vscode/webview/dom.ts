// Creates elements. Texts are never parsed as HTML.
type Child = Node | string;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<{ class: string; type: string; label: string; title: string; role: string; hidden: boolean }> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (properties.class) node.className = properties.class;
  if (properties.type) node.setAttribute("type", properties.type);
  if (properties.label) node.setAttribute("aria-label", properties.label);
  if (properties.title) node.title = properties.title;
  if (properties.role) node.setAttribute("role", properties.role);
  if (properties.hidden) node.hidden = true;
  node.append(...children);
  return node;
}

export function button(text: string, className: string, click: () => void, label = ""): HTMLButtonElement {
  const node = el("button", { type: "button", class: className, ...(label && { label }) }, text);
  node.addEventListener("click", click);
  return node;
}

export function byId<T extends HTMLElement>(id: string): T {
  const node = document.getElementById(id);
  if (!node) throw new Error(`no element ${id}`);
  return node as T;
}
