/** The path within the folder; whole where it is not in there, or may lead out of it. */
export function relative(folder: string, path: string): string {
  const slash = folder.includes("\\") ? "\\" : "/";
  const start = folder.endsWith(slash) ? folder : folder + slash;
  if (folder === "" || !path.startsWith(start) || path.split(/[\\/]/).includes("..")) return path;
  return path.slice(start.length);
}
