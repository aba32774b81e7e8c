import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** Colours of the themes Light Modern and Dark Modern of VS Code 1.139, and of the side bar in them. */
const themes = {
  light: { errorForeground: "f85149", "editorWarning-foreground": "bf8803", foreground: "3b3b3b", background: "f8f8f8" },
  dark: { errorForeground: "f85149", "editorWarning-foreground": "cca700", foreground: "cccccc", background: "181818" },
};

const parse = (colour: string): number[] => [0, 2, 4].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** Returns the relative luminance by WCAG 2. */
function luminance(colour: number[]): number {
  const [red, green, blue] = colour.map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

test("text of errors and warnings has enough contrast in the side bar", () => {
  const css = readFileSync("media/chat.css", "utf8");
  for (const name of ["error", "warning"]) {
    const [, of, share] = css.match(new RegExp(`--${name}: color-mix\\(in srgb, var\\(--vscode-([\\w-]+)\\) (\\d+)%, var\\(--vscode-foreground\\)\\)`))!;
    for (const [theme, colours] of Object.entries(themes)) {
      const text = parse(colours.foreground);
      const mixed = parse(colours[of as keyof typeof colours]).map((part, i) => part * Number(share) / 100 + text[i]! * (1 - Number(share) / 100));
      const [low, high] = [luminance(mixed), luminance(parse(colours.background))].sort((a, b) => a - b);
      assert.ok((high! + 0.05) / (low! + 0.05) >= 4.5, `${name} in ${theme}`);
    }
  }
  assert.doesNotMatch(css, /[^-]color: var\(--vscode-(errorForeground|editorWarning-foreground)\)/);
});
