// The fields of a form of an MCP server, and the check of their values.
import * as strings from "./strings/requests";
import { visible } from "./text";

export type Format = "" | "email" | "uri" | "date" | "date-time";

export interface Field {
  id: string;
  label: string;
  question: string;
  type: "text" | "secret" | "number" | "integer" | "boolean" | "choice";
  options: { value: string; label: string; description: string }[];
  /** Whether the user may enter a text that is not among the options. */
  free: boolean;
  required: boolean;
  /** The value that the field starts with. */
  initial: string;
  format: Format;
  /** Limits of a number, or of the length of a text. */
  min: number | null;
  max: number | null;
}

export type Values = Record<string, string>;

export interface Property {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  enum?: string[];
  enumNames?: string[];
  oneOf?: { const: string; title?: string }[];
}

const formats: string[] = ["email", "uri", "date", "date-time"] satisfies Format[];

export function toField(id: string, p: Property, required: string[]): Field {
  const options = (p.oneOf?.map((o) => ({ value: o.const, label: visible(o.title ?? o.const), description: "" }))
    ?? p.enum?.map((value, i) => ({ value, label: visible(p.enumNames?.[i] ?? value), description: "" }))
    ?? []);
  const type = options.length ? "choice" : p.type === "boolean" || p.type === "number" || p.type === "integer" ? p.type : "text";
  const isNumber = type === "number" || type === "integer";
  return {
    id, label: visible(p.title ?? id), question: visible(p.description ?? ""), type, options, free: false, required: required.includes(id),
    initial: initial(p.default), format: type === "text" && formats.includes(p.format ?? "") ? (p.format as Format) : "",
    min: (isNumber ? p.minimum : p.minLength) ?? null, max: (isNumber ? p.maximum : p.maxLength) ?? null,
  };
}

const initial = (value: unknown): string => (["string", "number", "boolean"].includes(typeof value) ? String(value) : "");

/** Returns why a value does not fit its field; "" if it does. */
export function fieldError(field: Field, value: string | undefined): string {
  const text = value ?? "";
  if (field.type === "boolean") return "";
  if (text.trim() === "") return field.required ? strings.field.required : "";
  if (field.type === "choice") return field.free || field.options.some((option) => option.value === text) ? "" : strings.field.option;
  if (field.type === "number" || field.type === "integer") {
    const number = Number(text);
    if (!Number.isFinite(number)) return strings.field.number;
    if (field.type === "integer" && !Number.isInteger(number)) return strings.field.integer;
    if (field.min !== null && number < field.min) return strings.field.min(field.min);
    return field.max !== null && number > field.max ? strings.field.max(field.max) : "";
  }
  const length = [...text].length;
  if (field.min !== null && length < field.min) return strings.field.longer(field.min);
  if (field.max !== null && length > field.max) return strings.field.shorter(field.max);
  switch (field.format) {
    case "email":
      return /^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(text) ? "" : strings.field.email;
    case "uri":
      return URL.canParse(text) ? "" : strings.field.uri;
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(text) && isTime(text) ? "" : strings.field.date;
    case "date-time":
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && isTime(text) ? "" : strings.field.dateTime;
    default:
      return "";
  }
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));

/** Returns the values of a form as the server gets them. An empty field is left out. */
export function toContent(fields: Field[], values: Values): Record<string, unknown> {
  return Object.fromEntries(fields.flatMap((field) => typed(field, values[field.id])));
}

function typed(field: Field, value: string | undefined): [string, unknown][] {
  if (field.type === "boolean") return [[field.id, (value ?? field.initial) === "true"]];
  if (value === undefined || value.trim() === "") return [];
  return [[field.id, field.type === "number" || field.type === "integer" ? Number(value) : value]];
}
