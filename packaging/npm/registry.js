// Serves the tarballs of a folder as an npm registry, for packaging/try.sh. It prints its address.
"use strict";
const { execFileSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const { createServer } = require("node:http");
const { readFileSync, readdirSync } = require("node:fs");
const { join } = require("node:path");

const folder = process.argv[2];
const packages = new Map();
for (const file of readdirSync(folder)) {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"]));
  packages.set(manifest.name, { file, manifest });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.slice(1));
  if (path.endsWith(".tgz")) {
    response.end(readFileSync(join(folder, path)));
    return;
  }
  const found = packages.get(path);
  if (!found) {
    response.writeHead(404).end("{}");
    return;
  }
  const { file, manifest } = found;
  const integrity = "sha512-" + createHash("sha512").update(readFileSync(join(folder, file))).digest("base64");
  const dist = { tarball: `http://${request.headers.host}/${file}`, integrity };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } } }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
