// Writes the types of the contract to bindings/, as this project's engine hands values over.
//
// The generator writes them for engines whose 64-bit numbers are `bigint` and whose absent values are `undefined`.
// QuickJS has `number` and `null`, and a type that says otherwise would hide what goes wrong.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { generateGuestTypes } from '@bytecodealliance/jco-transpile';

const directory = 'bindings';

/** @param {string} text */
function asTheEngineDoes(text) {
  return text
    .replaceAll(/\bbigint\b/g, 'number')
    .replaceAll(/ \| undefined\b/g, ' | null | undefined')
    .replaceAll(/^( +\w+\?: .*),$/gm, '$1 | null,');
}

const files = await generateGuestTypes('wit', { outDir: directory, worldName: 'backend' });
await rm(directory, { recursive: true, force: true });
for (const [path, bytes] of Object.entries(files)) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, asTheEngineDoes(new TextDecoder().decode(bytes)));
}
