/**
 * A host in memory. It keeps what the contract promises (a commit is all or nothing), not the host's limits, and hands
 * errors over as the engine does.
 */

import { randomBytes } from 'node:crypto';

import type { Change, Error as StateError } from 'drivebay:host/state@0.1.0';

import type { Host } from '../src/host.js';
import { encode } from '../src/utf8.js';

/** The host of one test. */
export class MemoryHost implements Host {
  values = new Map<string, Uint8Array>();
  /** So many commits fail as if other calls had been faster. */
  conflicts = 0;
  /** What every commit fails with. */
  broken: StateError | undefined;

  readonly state = {
    get: (key: string) => this.values.get(key) ?? null,
    commit: (changes: Change[]) => this.#commit(changes),
  };
  readonly log = () => {};
  readonly randomBytes = (count: number) => new Uint8Array(randomBytes(count));

  /** Writes a text, as another version of the code may have done. */
  put(key: string, value: string): void {
    this.values.set(key, encode(value));
  }

  #commit(changes: Change[]): void {
    if (this.broken !== undefined) {
      throw answered(this.broken);
    }
    if (this.conflicts > 0) {
      this.conflicts--;
      throw answered({ tag: 'conflict', val: 'another call' });
    }
    const values = new Map(this.values);
    for (const change of changes) {
      switch (change.tag) {
        case 'put':
          values.set(change.val.key, change.val.value);
          break;
        case 'delete':
          values.delete(change.val);
          break;
        case 'expect':
          if (values.get(change.val.key)?.toString() !== change.val.value?.toString()) {
            throw answered({ tag: 'conflict', val: change.val.key });
          }
      }
    }
    this.values = values;
  }
}

function answered(error: StateError): Error {
  return Object.assign(new Error(error.tag), { payload: error });
}
