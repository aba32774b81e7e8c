// Programs on this machine.
import { accessSync, constants, statSync } from "node:fs";
import { finder } from "../core/program";

export const find = finder(
  (file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  },
  process.env,
  process.platform === "win32",
);
