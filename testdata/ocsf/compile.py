"""Compiles one class of the Open Cybersecurity Schema Framework to JSON Schema.

usage: compile.py REPOSITORY VERSION CLASS-FILE PROFILE... >schema.json

REPOSITORY is a git clone of https://github.com/ocsf/ocsf-schema. The result has what the schema
server's export has: attributes, types, enumerations, requirements, and the constraints of objects.
"""
import json, subprocess, sys

repo, version, class_file, *profiles = sys.argv[1:]

def read(path):
    return json.loads(subprocess.check_output(["git", "-C", repo, "show", f"{version}:{path}"]))

def listing(path):
    names = subprocess.check_output(["git", "-C", repo, "ls-tree", "-r", "--name-only", version, path], text=True).split()
    return [n for n in names if n.endswith(".json")]

dictionary = read("dictionary.json")
objects = {o.get("name") or o.get("extends"): o for o in map(read, listing("objects"))}
events = {e.get("name") or e.get("extends"): e for e in map(read, listing("events"))}

def attributes(item, known):
    """Returns the attributes with those of its parents, and of included files of the profiles."""
    out = {}
    if item.get("extends"):
        out = attributes(known[item["extends"]], known)
    own = dict(item.get("attributes", {}))
    for path in own.pop("$include", []):
        part = read(path)
        if part.get("meta") != "profile" or part["name"] in profiles:
            for name, a in part["attributes"].items():
                out[name] = {**part.get("annotations", {}), **out.get(name, {}), **a}
    for name, a in own.items():
        if a.get("profile") and a["profile"] not in profiles:
            continue
        merged = {**out.get(name, {}), **a}
        if "enum" in a and "enum" in out.get(name, {}):
            merged["enum"] = {**out[name]["enum"], **a["enum"]}
        out[name] = merged
    return out

def inherited(item, known, key):
    while True:
        if key in item:
            return item[key]
        if not item.get("extends"):
            return None
        item = known[item["extends"]]

needed, defs = [], {}

def scalar(name):
    t = dictionary["types"]["attributes"][name]
    base = t.get("type", name)
    out = {"boolean_t": {"type": "boolean"}, "integer_t": {"type": "integer"}, "long_t": {"type": "integer"},
           "float_t": {"type": "number"}, "json_t": {}, "string_t": {"type": "string"}}[base].copy()
    if "regex" in t:
        out["pattern"] = t["regex"]
    if "max_len" in t and "type" in out and out["type"] == "string":
        out["maxLength"] = t["max_len"]
    if "range" in t:
        out["minimum"], out["maximum"] = t["range"]
    return out

def schema(name, a):
    known = {**dictionary["attributes"].get(name, {}), **a}
    if "enum" in dictionary["attributes"].get(name, {}) and "enum" in a:
        known["enum"] = {**dictionary["attributes"][name]["enum"], **a["enum"]}
    kind = known["type"]
    if kind in dictionary["types"]["attributes"]:
        out = scalar(kind)
        if "enum" in known and out.get("type") == "integer":
            out["enum"] = sorted(int(k) for k in known["enum"])
        elif "enum" in known:
            out["enum"] = sorted(known["enum"])
    elif kind == "object":
        out = {"type": "object"}
    else:
        if kind not in needed:
            needed.append(kind)
        out = {"$ref": f"#/$defs/{kind}"}
    return {"type": "array", "items": out} if known.get("is_array") else out

def body(item, known):
    all = attributes(item, known)
    out = {"type": "object", "additionalProperties": False,
           "properties": {n: schema(n, a) for n, a in sorted(all.items())}}
    required = sorted(n for n, a in all.items() if a.get("requirement") == "required")
    if required:
        out["required"] = required
    for kind, names in (inherited(item, known, "constraints") or {}).items():
        names = [n for n in names if n in all]
        out["anyOf" if kind == "at_least_one" else "oneOf"] = [{"required": [n]} for n in names]
    return out

event = read(class_file)
out = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": f"OCSF {version}, class {event['name']}, profiles: {', '.join(profiles)}. Apache License 2.0; see README.md.",
       "title": event["caption"], **body(event, events)}
categories = read("categories.json")["attributes"]
category = inherited(event, events, "category")
uid = categories[category]["uid"] * 1000 + event["uid"]
p = out["properties"]
p["category_uid"]["enum"], p["class_uid"]["enum"] = [categories[category]["uid"]], [uid]
p["type_uid"]["enum"] = [uid * 100 + n for n in p["activity_id"]["enum"]]
while needed:
    name = needed.pop()
    if name not in defs:
        defs[name] = None
        defs[name] = body(objects[name], objects) if name != "object" else {"type": "object"}
out["$defs"] = dict(sorted(defs.items()))
json.dump(out, sys.stdout, indent=None, separators=(",", ":"))
