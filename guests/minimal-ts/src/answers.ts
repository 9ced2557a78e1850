/**
 * What a client is going to be told, held against the contract.
 *
 * It knows no request and changes nothing. The host refuses an answer that breaks the contract, but what was committed
 * before stays: a volume that no client knows of. So `records` asks it before every commit.
 */

import type { StringMap, Volume } from 'drivebay:backend/types@0.1.0';

import { Failure } from './failure.js';
import { encode } from './utf8.js';

/** In bytes. */
const LONGEST_ID = 128;
/** In bytes, keys and values together. */
const LARGEST_CONTEXT = 4 << 10;
const CONTROL = /\p{Cc}/u;

/** Throws where clients cannot be told of a volume. */
export function check(volume: Volume): void {
  const length = encode(volume.volumeId).length;
  if (length === 0 || length > LONGEST_ID) {
    throw broken(`volume-id has ${length} bytes; from 1 to ${LONGEST_ID} are allowed`);
  }
  if (CONTROL.test(volume.volumeId)) {
    throw broken('volume-id has a control character');
  }
  if (!Number.isSafeInteger(volume.capacityBytes) || volume.capacityBytes < 0) {
    throw broken(`capacity-bytes is ${volume.capacityBytes}; from 0 to ${Number.MAX_SAFE_INTEGER} are exact numbers`);
  }
  checkContext(volume.volumeContext);
}

function checkContext(context: StringMap): void {
  const seen = new Set<string>();
  let size = 0;
  for (const [key, value] of context) {
    if (key === '' || CONTROL.test(key) || value.includes('\0')) {
      throw broken(`volume-context has an unusable key or value at ${JSON.stringify(key)}`);
    }
    if (seen.has(key)) {
      throw broken(`volume-context has the key ${JSON.stringify(key)} twice`);
    }
    seen.add(key);
    size += encode(key).length + encode(value).length;
  }
  if (size > LARGEST_CONTEXT) {
    throw broken(`volume-context has ${size} bytes; at most ${LARGEST_CONTEXT} are allowed`);
  }
}

function broken(problem: string): Failure {
  return new Failure('internal', `the backend would answer against the contract: ${problem}`);
}
