/** Returns the anchor of a heading as GitHub creates it, so that one link works on both. */
export function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\- _]/gu, "").replace(/ /g, "-");
}
