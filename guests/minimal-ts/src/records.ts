/**
 * The volumes as records in the host's state: `volume/NAME` holds id, size and parameters, `id/ID` the name.
 *
 * It knows nothing of requests. Every change is one commit with what was read before as its expectation: of two calls
 * for one name that run at the same time one makes the volume, and the other reads again and finds it. Ids are drawn:
 * calls for different names that counted them would all wait for one key. Nothing is committed of which no client could
 * be told.
 */

import type { StringMap, Volume } from 'drivebay:backend/types@0.1.0';
import type { Change, Error as StateError } from 'drivebay:host/state@0.1.0';

import { check } from './answers.js';
import { Failure } from './failure.js';
import type { Host } from './host.js';
import { decode, encode, hex } from './utf8.js';

/**
 * As often a call tries before it lets its client come back. Only calls for one object meet here, and the host lets
 * those of one name in one after the other.
 */
const ATTEMPTS = 4;

/** What the state holds of a volume. */
export interface VolumeRecord {
  readonly volumeId: string;
  readonly capacityBytes: number;
  /** As `fingerprint` makes it. */
  readonly parameters: string;
}

/** One text for each set of parameters, whatever their order. */
export function fingerprint(parameters: StringMap): string {
  const byKey = ([a]: [string, string], [b]: [string, string]) => (a < b ? -1 : a > b ? 1 : 0);
  return JSON.stringify(parameters.toSorted(byKey));
}

/** The volumes of one host. */
export class Records {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** The volume of this name, new if there is none: as told but for the id, which is drawn. */
  findOrCreate(name: string, parameters: StringMap, told: Omit<Volume, 'volumeId'>): VolumeRecord {
    const key = `volume/${name}`;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = this.#read(key);
      if (found !== undefined) {
        return parse(key, found);
      }
      const volumeId = this.#drawId();
      check({ ...told, volumeId });
      const record = { volumeId, capacityBytes: told.capacityBytes, parameters: fingerprint(parameters) };
      if (this.#commit(expect(key, undefined), put(key, JSON.stringify(record)), put(`id/${volumeId}`, name))) {
        return record;
      }
    }
    throw crowded();
  }

  /** Forgets a volume; success when there is none. */
  delete(volumeId: string): void {
    const key = `id/${volumeId}`;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const name = this.#read(key);
      if (name === undefined || this.#commit(expect(key, name), remove(key), remove(`volume/${name}`))) {
        return;
      }
    }
    throw crowded();
  }

  /** The volume of this id, if there is one. */
  find(volumeId: string): VolumeRecord | undefined {
    const name = this.#read(`id/${volumeId}`);
    const key = `volume/${name}`;
    const found = name === undefined ? undefined : this.#read(key);
    return found === undefined ? undefined : parse(key, found);
  }

  /** 128 random bits, so that no id is ever given twice, to a volume deleted long ago neither. */
  #drawId(): string {
    return `vol-${Array.from(this.#host.randomBytes(16), hex).join('')}`;
  }

  #read(key: string): string | undefined {
    try {
      const value = this.#host.state.get(key);
      return value == null ? undefined : decode(value);
    } catch (thrown) {
      throw thrown instanceof URIError ? damaged(key) : refused(stateError(thrown));
    }
  }

  /** Makes the changes; false when an expectation was not met. */
  #commit(...changes: Change[]): boolean {
    try {
      this.#host.state.commit(changes);
      return true;
    } catch (thrown) {
      const failed = stateError(thrown);
      if (failed.tag === 'conflict') {
        return false;
      }
      throw refused(failed);
    }
  }
}

function put(key: string, value: string): Change {
  return { tag: 'put', val: { key, value: encode(value) } };
}

function remove(key: string): Change {
  return { tag: 'delete', val: key };
}

function expect(key: string, value: string | undefined): Change {
  return { tag: 'expect', val: { key, value: value === undefined ? undefined : encode(value) } };
}

function parse(key: string, text: string): VolumeRecord {
  try {
    const { volumeId, capacityBytes, parameters } = JSON.parse(text);
    if (typeof volumeId === 'string' && Number.isSafeInteger(capacityBytes) && typeof parameters === 'string') {
      return { volumeId, capacityBytes, parameters };
    }
  } catch {
    // What is no JSON is no record either.
  }
  throw damaged(key);
}

/** What a function of the host answered: the engine throws it as the `payload` of an `Error`. */
function stateError(thrown: unknown): StateError {
  if (thrown instanceof Error && 'payload' in thrown) {
    return thrown.payload as StateError;
  }
  throw thrown;
}

function damaged(key: string): Failure {
  return new Failure('failed-precondition', `the record ${key} is damaged`);
}

function refused(failed: StateError): Failure {
  switch (failed.tag) {
    case 'quota-exceeded':
      return new Failure('resource-exhausted', "the state's quota is used up");
    case 'read-only':
      return new Failure('failed-precondition', 'the state is read-only here');
    case 'invalid':
      return new Failure('unavailable', `the state refused it: ${failed.val}`);
    case 'unavailable':
      return new Failure('unavailable', `the state failed: ${failed.val}`);
    case 'conflict':
      return crowded();
  }
}

function crowded(): Failure {
  return new Failure('aborted', 'other calls changed the state again and again', 'busy');
}
