/**
 * Two parameters that misbehave on purpose, for the project's tests: `fail` (the word of an error code to answer) and
 * `trap` (`1`: an exception that nobody catches). Projects that begin with this backend are made without it.
 */

import type { ErrorCode, StringMap } from 'drivebay:backend/types@0.1.0';

import { Failure } from './failure.js';

/** All words, each once: the compiler sees to it. */
const CODES: { readonly [code in ErrorCode]: true } = {
  'invalid-argument': true,
  'not-found': true,
  'already-exists': true,
  'failed-precondition': true,
  'resource-exhausted': true,
  'out-of-range': true,
  aborted: true,
  unauthenticated: true,
  'permission-denied': true,
  unavailable: true,
  unimplemented: true,
  internal: true,
};

/** Does what the parameters for tests ask for. */
export function whereAsked(parameters: StringMap): void {
  for (const [key, value] of parameters) {
    if (key === 'trap' && value === '1') {
      throw new Error('the parameter trap asks for it');
    }
    if (key === 'fail') {
      throw new Failure(isCode(value) ? value : 'invalid-argument', `the parameter fail asks for it: ${value}`);
    }
  }
}

function isCode(word: string): word is ErrorCode {
  return Object.hasOwn(CODES, word);
}
