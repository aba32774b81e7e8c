// Highlights code with the grammars of highlight.js, as a tree that becomes elements: no HTML is parsed.
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { el } from "./dom";

const lowlight = createLowlight({ bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, lua, php, python, ruby, rust, shell, sql, typescript, xml, yaml });

/** Longer code stays plain, so that a draw takes no noticeable time. */
const maxLength = 20_000;

interface Tree {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Tree[];
}

/** Returns the nodes of code in a language; the plain text if the language is not known. */
export function highlight(text: string, language: string): Node[] {
  if (text.length > maxLength || !lowlight.registered(language.toLowerCase())) return [document.createTextNode(text)];
  return (lowlight.highlight(language.toLowerCase(), text) as Tree).children!.map(toNode);
}

function toNode(node: Tree): Node {
  if (node.type !== "element") return document.createTextNode(node.value ?? "");
  return el("span", { class: (node.properties?.className ?? []).join(" ") }, ...(node.children ?? []).map(toNode));
}
