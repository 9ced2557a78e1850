/** What clients rely on. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import type { Error as ContractError, StringMap, Volume } from 'drivebay:backend/types@0.1.0';
import type { Verdict } from 'drivebay:backend/volumes@0.1.0';

import { DEFAULT_BYTES, volumes } from '../src/volumes.js';
import { MemoryHost } from './host.js';

let host: MemoryHost;
let backend: ReturnType<typeof volumes>;

beforeEach(() => {
  host = new MemoryHost();
  backend = volumes(host);
});

function create(name: string, requiredBytes?: number, parameters: StringMap = []): Volume {
  return backend.createVolume({
    name,
    capacityRange: requiredBytes === undefined ? null : { requiredBytes, limitBytes: null },
    volumeCapabilities: [{ accessType: { tag: 'block' }, accessMode: 'single-node-writer' }],
    parameters,
    secrets: [],
    volumeContentSource: null,
    accessibilityRequirements: null,
    mutableParameters: [],
  });
}

function remove(volumeId: string): void {
  backend.deleteVolume({ volumeId, secrets: [] });
}

function validate(volumeId: string, volumeContext: StringMap = []): Verdict {
  const none = { volumeCapabilities: [], parameters: [], secrets: [], mutableParameters: [] };
  return backend.validateVolumeCapabilities({ volumeId, volumeContext, ...none });
}

/** The error of a call that is refused, as the engine gets it. */
function refused(call: () => unknown): ContractError {
  try {
    call();
  } catch (thrown) {
    assert.ok(!(thrown instanceof Error), `the call would crash: ${String(thrown)}`);
    return thrown as ContractError;
  }
  assert.fail('it was not refused');
}

test('a repeated call finds the volume of the first', () => {
  const first = create('a', undefined, [['kind', 'fast'], ['tier', '1']]);
  assert.equal(first.capacityBytes, DEFAULT_BYTES);
  // The order of parameters means nothing.
  assert.equal(create('a', undefined, [['tier', '1'], ['kind', 'fast']]).volumeId, first.volumeId);
  assert.notEqual(create('b').volumeId, first.volumeId);
});

test('the same name with other wishes is refused', () => {
  create('a', 1 << 20);
  const differs: [number, StringMap][] = [[1 << 21, []], [1 << 20, [['kind', 'fast']]]];
  for (const [bytes, parameters] of differs) {
    const { code, reason } = refused(() => create('a', bytes, parameters));
    assert.deepEqual([code, reason], ['already-exists', 'incompatible']);
  }
});

test('nothing is left of a deleted volume and its id never returns', () => {
  const first = create('a');
  remove(first.volumeId);
  remove(first.volumeId);
  assert.deepEqual([...host.values.keys()], []);
  assert.equal(refused(() => validate(first.volumeId)).code, 'not-found');
  assert.notEqual(create('a').volumeId, first.volumeId);
});

test('a call that loses a race decides anew', () => {
  host.conflicts = 3;
  create('a');
  host.conflicts = 1000;
  const { code, reason } = refused(() => create('b'));
  assert.deepEqual([code, reason], ['aborted', 'busy']);
  assert.equal(host.values.size, 2);
});

test('a volume is known by the context that it was given', () => {
  const { volumeId, volumeContext } = create('a', undefined, [['kind', 'fast'], ['size', 'µ']]);
  assert.equal(validate(volumeId, volumeContext).tag, 'supported');
  for (const other of [volumeContext.slice(1), volumeContext.slice(0, 2), [...volumeContext, ['x', 'y']]]) {
    assert.equal(validate(volumeId, other as StringMap).tag, 'unsupported');
  }
});

test('nothing is committed that no client can be told', () => {
  assert.equal(refused(() => create('a', undefined, [['k', 'v'.repeat(5_000)]])).code, 'internal');
  assert.equal(refused(() => create('a', 2 ** 53)).code, 'out-of-range');
  assert.equal(create('a', 2 ** 53 - 1).capacityBytes, 2 ** 53 - 1);
  assert.equal(host.values.size, 2);
});

test('what the state answers is told by its code', () => {
  host.broken = { tag: 'quota-exceeded' };
  assert.equal(refused(() => create('a')).code, 'resource-exhausted');
  host.broken = { tag: 'unavailable', val: 'gone' };
  assert.match(refused(() => create('a')).message, /gone/);
  host.put('volume/b', '{"volumeId": 1}');
  assert.equal(refused(() => create('b')).code, 'failed-precondition');
});
