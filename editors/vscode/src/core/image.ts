// Checks a pasted or dropped image before it is stored.
import * as strings from "./strings/chat";

/** The maximal size of an image in bytes. */
export const maxImage = 10 * 1024 * 1024;
/** The maximal number of images in a message. */
export const maxImages = 8;

const starts: [string, number[]][] = [
  ["png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["jpg", [0xff, 0xd8, 0xff]],
  ["gif", [0x47, 0x49, 0x46, 0x38]],
];

/** Returns the extension of an image by its first bytes; undefined if Codex takes no such file. */
function extensionOf(data: Uint8Array): string | undefined {
  const known = starts.find(([, start]) => start.every((byte, i) => data[i] === byte));
  if (known) return known[0];
  const ascii = (from: number): string => String.fromCharCode(...data.subarray(from, from + 4));
  return ascii(0) === "RIFF" && ascii(8) === "WEBP" ? "webp" : undefined;
}

/** Returns the extension of an image, or throws an error for the user. images: how many the message has already. */
export function checkImage(name: string, data: Uint8Array, images: number): string {
  if (images >= maxImages) throw new Error(strings.image.tooMany(maxImages));
  if (data.length > maxImage) throw new Error(strings.image.tooLarge(name, data.length, maxImage));
  const extension = extensionOf(data);
  if (extension === undefined) throw new Error(strings.image.unknown(name));
  return extension;
}
